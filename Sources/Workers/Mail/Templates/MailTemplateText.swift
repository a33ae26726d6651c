/// Parsed once, so that a job only joins pieces.
struct MailTemplateText: Sendable, Hashable {
  private enum Piece: Sendable, Hashable {
    case literal(String)
    case variable(MailVariable)
  }

  private let pieces: [Piece]

  /// In Unicode scalars.
  static let maxLength = 1000

  struct Problem: Error {
    let message: String
  }

  init(_ source: String) throws(Problem) {
    guard (1...Self.maxLength).contains(source.unicodeScalars.count) else {
      throw Problem(message: "must have 1 to \(Self.maxLength) characters")
    }
    guard !source.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw Problem(message: "has a control character")
    }
    var pieces: [Piece] = []
    var rest = source[...]
    while let open = rest.firstIndex(of: "{") {
      guard let close = rest[open...].firstIndex(of: "}") else { throw Problem(message: "has a { without a }") }
      let name = String(rest[rest.index(after: open)..<close])
      guard let variable = MailVariable(rawValue: name) else {
        let known = MailVariable.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")
        throw Problem(message: "uses {\(name)}; known are \(known)")
      }
      pieces += [.literal(String(rest[..<open])), .variable(variable)]
      rest = rest[rest.index(after: close)...]
    }
    self.pieces = pieces + [.literal(String(rest))]
  }

  var variables: [MailVariable] {
    pieces.compactMap { if case .variable(let variable) = $0 { variable } else { nil } }
  }

  func filled(with values: [MailVariable: String], wrap: (String) -> String = { $0 }) -> String {
    var text = ""
    for piece in pieces {
      switch piece {
      case .literal(let literal): text += literal
      case .variable(let variable): text += wrap(values[variable] ?? "")
      }
    }
    return text
  }
}
