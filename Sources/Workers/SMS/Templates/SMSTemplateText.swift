/// Parsed once, so that a job only joins pieces.
struct SMSTemplateText: Sendable, Hashable {
  private enum Piece: Sendable, Hashable {
    case literal(String)
    case variable(TemplateVariable)
  }

  private let pieces: [Piece]

  /// In Unicode scalars.
  static let maxLength = 300

  init(_ source: String) throws(Problem) {
    guard source.unicodeScalars.count <= Self.maxLength else {
      throw Problem("is longer than \(Self.maxLength) characters")
    }
    guard !source.unicodeScalars.contains(where: { $0.properties.generalCategory == .control && $0 != "\n" }) else {
      throw Problem("has a control character other than a line feed")
    }
    pieces = try Self.parse(source)
    guard pieces.contains(.variable(.code)) else { throw Problem("does not contain {code}") }
  }

  private static func parse(_ source: String) throws(Problem) -> [Piece] {
    var pieces: [Piece] = []
    var rest = source[...]
    while let open = rest.firstIndex(of: "{") {
      guard let close = rest[open...].firstIndex(of: "}") else { throw Problem("has a { without a }") }
      let name = String(rest[rest.index(after: open)..<close])
      guard let variable = TemplateVariable(rawValue: name), variable != .androidHash else {
        throw Problem("uses {\(name)}; known are {code}, {appName} and {domain}")
      }
      pieces += [.literal(String(rest[..<open])), .variable(variable)]
      rest = rest[rest.index(after: close)...]
    }
    return pieces + [.literal(String(rest))]
  }

  var variables: [TemplateVariable] {
    pieces.compactMap { if case .variable(let variable) = $0 { variable } else { nil } }
  }

  /// A missing one stays empty, so check `variables` first.
  func filled(with values: [TemplateVariable: String]) -> String {
    var text = ""
    text.reserveCapacity(Self.usualLength)
    for piece in pieces {
      switch piece {
      case .literal(let literal): text += literal
      case .variable(let variable): text += values[variable] ?? ""
      }
    }
    return text
  }

  /// Capacity to reserve for a text, in bytes.
  private static let usualLength = 160

  struct Problem: Error {
    let message: String
    init(_ message: String) { self.message = message }
  }
}
