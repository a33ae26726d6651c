import JobEngine

enum WordingLinter {
  /// In the order in which to fix them.
  static func problems(_ wording: String, isDomainBound: Bool, _ known: TemplateVariables = .sms) -> [String] {
    let text: TemplateText
    do {
      text = try SMSTemplate.text(wording, known)
    } catch {
      return [error.message]
    }
    return variables(text) + length(text, isDomainBound) + DirectionLinter.problems(text)
      + LinkLinter.problems(text) + ScriptLinter.problems(text)
  }

  private static func variables(_ text: TemplateText) -> [String] {
    var problems: [String] = []
    if !text.variables.contains(.appName) {
      problems.append("does not contain {appName}: the recipient would not know what the code is for")
    }
    if text.variables.contains(.domain) {
      problems.append("contains {domain}, which phones turn into a link: the worker writes the last line by itself")
    }
    for variable in [TemplateVariable.code, .appName] where text.variables.count(where: { $0 == variable }) > 1 {
      problems.append("contains \(variable) more than once")
    }
    return problems
  }

  /// A wording that is too long for the shortest values is never sent, or always costs another segment.
  private static func length(_ text: TemplateText, _ isDomainBound: Bool) -> [String] {
    var values = Dictionary(text.variables.map { ($0, "A") }) { first, _ in first }
    values[.code] = "1234"
    values[.domain] = "a.io"
    let filled = text.filled(with: values)
    let message = isDomainBound ? MessageTail.domain("a.io", code: "1234").around(filled) : filled
    let size = SMSText(message)
    guard size.segments > 1 else { return [] }
    return ["takes \(size.segments) segments of \(size.encoding.rawValue) however short the name is"]
  }
}

extension TemplateText {
  /// The text with a private character for each variable, so that its neighbors can be checked.
  var skeleton: String { filled(with: marks.mapValues { String($0) }) }

  /// The variable that a private character stands for, as a file writes it.
  func readable(_ text: String) -> String {
    let variables = Dictionary(uniqueKeysWithValues: marks.map { ($0.value, $0.key) })
    return text.unicodeScalars.reduce(into: "") { text, scalar in
      if let variable = variables[scalar] { text += "\(variable)" } else { text.unicodeScalars.append(scalar) }
    }
  }

  private var marks: [TemplateVariable: Unicode.Scalar] {
    var marks: [TemplateVariable: Unicode.Scalar] = [.code: PhishingSigns.codeMark]
    for variable in variables where marks[variable] == nil {
      let value = PhishingSigns.marks.lowerBound.value + UInt32(marks.count - 1)
      marks[variable] = Unicode.Scalar(value).flatMap { PhishingSigns.marks.contains($0) ? $0 : nil }
    }
    return marks
  }
}
