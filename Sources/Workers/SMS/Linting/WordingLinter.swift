enum WordingLinter {
  /// In the order in which to fix them.
  static func problems(_ wording: String, isDomainBound: Bool) -> [String] {
    let text: SMSTemplateText
    do {
      text = try SMSTemplateText(wording)
    } catch {
      return [error.message]
    }
    return variables(text) + length(text, isDomainBound) + DirectionLinter.problems(text)
      + LinkLinter.problems(text) + ScriptLinter.problems(text)
  }

  private static func variables(_ text: SMSTemplateText) -> [String] {
    var problems: [String] = []
    if !text.variables.contains(.appName) {
      problems.append("does not contain {appName}: the recipient would not know what the code is for")
    }
    if text.variables.contains(.domain) {
      problems.append("contains {domain}, which phones turn into a link: the worker writes the last line by itself")
    }
    for variable in [TemplateVariable.code, .appName] where text.variables.count(where: { $0 == variable }) > 1 {
      problems.append("contains {\(variable.rawValue)} more than once")
    }
    return problems
  }

  /// A wording that is too long for the shortest values is never sent, or always costs another segment.
  private static func length(_ text: SMSTemplateText, _ isDomainBound: Bool) -> [String] {
    let values: [TemplateVariable: String] = [.code: "1234", .appName: "A", .domain: "a.io"]
    let filled = text.filled(with: values)
    let message = isDomainBound ? MessageTail.domain("a.io", code: "1234").around(filled) : filled
    let size = SMSText(message)
    guard size.segments > 1 else { return [] }
    return ["takes \(size.segments) segments of \(size.encoding.rawValue) however short the name is"]
  }
}

extension SMSTemplateText {
  /// The text with a private character for each variable, so that its neighbors can be checked.
  var skeleton: String {
    filled(with: [.code: String(Self.code), .appName: String(Self.name), .domain: String(Self.domain)])
  }

  static let code: Unicode.Scalar = "\u{E000}"
  static let name: Unicode.Scalar = "\u{E001}"
  static let domain: Unicode.Scalar = "\u{E002}"
}
