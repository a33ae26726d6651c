import ServiceRuntime

/// Text with variables in braces, parsed once, so that a job only joins pieces.
public struct TemplateText: Sendable, Hashable {
  private enum Piece: Sendable, Hashable {
    case literal(String)
    case variable(TemplateVariable)
  }

  private let pieces: [Piece]
  /// Variables in the order in which they stand there, each as often as it does.
  public let variables: [TemplateVariable]

  /// - Parameters:
  ///   - source: text as the file has it.
  ///   - variables: variables that it may name.
  ///   - lengths: lengths that it may have, in Unicode scalars.
  ///   - allowsLineFeeds: whether it may have several lines.
  /// - Throws: the first rule that it breaks.
  public init(
    _ source: String, _ variables: TemplateVariables, lengths: ClosedRange<Int>, allowsLineFeeds: Bool = false
  ) throws(TemplateFault) {
    guard source.unicodeScalars.count >= lengths.lowerBound else { throw TemplateFault("is empty") }
    guard source.unicodeScalars.count <= lengths.upperBound else {
      throw TemplateFault("is longer than \(lengths.upperBound) characters")
    }
    let controls = source.unicodeScalars.lazy.filter { $0.properties.generalCategory == .control }
    guard controls.allSatisfy({ allowsLineFeeds && $0 == "\n" }) else {
      throw TemplateFault("has a control character" + (allowsLineFeeds ? " other than a line feed" : ""))
    }
    pieces = try Self.parse(source, variables)
    self.variables = pieces.compactMap { if case .variable(let variable) = $0 { variable } else { nil } }
    try checkNeighbors(variables)
  }

  private static func parse(_ source: String, _ variables: TemplateVariables) throws(TemplateFault) -> [Piece] {
    var pieces: [Piece] = []
    var rest = source[...]
    while let open = rest.firstIndex(of: "{") {
      guard let close = rest[open...].firstIndex(of: "}") else { throw TemplateFault("has a { without a }") }
      let name = String(rest[rest.index(after: open)..<close])
      let variable = try variables.named(name)
      if open > rest.startIndex { pieces.append(.literal(String(rest[..<open]))) }
      pieces.append(.variable(variable))
      rest = rest[rest.index(after: close)...]
    }
    return rest.isEmpty ? pieces : pieces + [.literal(String(rest))]
  }

  /// A value must stand apart: beside the code, or a letter or digit, it could change what they say.
  private func checkNeighbors(_ variables: TemplateVariables) throws(TemplateFault) {
    for (left, right) in zip(pieces, pieces.dropFirst()) {
      switch (left, right) {
      case (.variable(let one), .variable(let other)) where variables.isOwn(one) || variables.isOwn(other):
        throw TemplateFault("has \(one) beside \(other): put a space between them")
      case (.variable(let own), .literal(let text)) where variables.isOwn(own) && isOfWord(text.unicodeScalars.first),
        (.literal(let text), .variable(let own)) where variables.isOwn(own) && isOfWord(text.unicodeScalars.last):
        throw TemplateFault("has \(own) beside a letter or digit: put a space between them")
      default: continue
      }
    }
  }

  private func isOfWord(_ scalar: Unicode.Scalar?) -> Bool { scalar?.isLetterOrDigit == true }

  /// Fills the values in. A missing one stays empty, so check ``variables`` first.
  ///
  /// - Parameters:
  ///   - values: values by variable.
  ///   - wrap: escapes a value, or puts marks around it.
  public func filled(with values: [TemplateVariable: String], wrap: (String) -> String = { $0 }) -> String {
    var text = ""
    text.reserveCapacity(Self.usualLength)
    for piece in pieces {
      switch piece {
      case .literal(let literal): text += literal
      case .variable(let variable): text += wrap(values[variable] ?? "")
      }
    }
    return text
  }

  /// Variable that may have no number and is part of one in the text.
  func foreignNumber(_ values: [TemplateVariable: String], _ known: TemplateVariables) -> TemplateVariable? {
    var number = NumberOfText()
    for piece in pieces {
      switch piece {
      case .literal(let text): number.read(text, of: nil)
      case .variable(.code): number.readCode()
      case .variable(let variable):
        number.read(values[variable] ?? "", of: known.isWithoutNumbers(variable) ? variable : nil)
      }
      if let found = number.found { return found }
    }
    return nil
  }

  /// Capacity to reserve for a text, in bytes.
  private static let usualLength = 160
}

/// Rule that a template breaks: the problem and its fix.
public struct TemplateFault: Error, Sendable, Hashable {
  public let message: String

  public init(_ message: String) {
    self.message = message
  }
}
