/// One template in one language: its wordings with and without the line that a phone reads.
struct MessageTemplate: Sendable {
  private let plain: [TemplateText]
  private let domainBound: [TemplateText]
  private let requiredPlain: [TemplateVariable]
  private let requiredDomainBound: [TemplateVariable]

  /// - Throws: `TemplateText.Problem` with the place of the wording in the file.
  init(_ forms: TemplateFile.Forms) throws(TemplateText.Problem) {
    plain = try Self.parse(forms.plain, "plain")
    domainBound = try Self.parse(forms.domainBound, "domainBound")
    requiredPlain = Self.variables(plain)
    requiredDomainBound = Self.variables(domainBound)
  }

  private static func parse(_ sources: [String], _ form: String) throws(TemplateText.Problem) -> [TemplateText] {
    guard !sources.isEmpty else { throw TemplateText.Problem("\(form): has no text") }
    var texts: [TemplateText] = []
    for (index, source) in sources.enumerated() {
      do {
        texts.append(try TemplateText(source))
      } catch {
        throw TemplateText.Problem("\(form)[\(index)]: \(error.message)")
      }
    }
    return texts
  }

  private static func variables(_ texts: [TemplateText]) -> [TemplateVariable] {
    var variables: [TemplateVariable] = []
    for variable in texts.flatMap(\.variables) where !variables.contains(variable) { variables.append(variable) }
    return variables
  }

  /// The variables without which no text can be made.
  func required(_ tail: MessageTail?) -> [TemplateVariable] { tail == nil ? requiredPlain : requiredDomainBound }

  /// The first wording that fits in one segment, else the one with the fewest segments.
  ///
  /// - Parameter values: Checked values, at least those of `required`.
  func render(_ values: [TemplateVariable: String]) -> SMSText {
    let tail = MessageTail(values)
    var best: SMSText?
    for text in texts(tail) {
      let candidate = SMSText(tail?.around(text.filled(with: values)) ?? text.filled(with: values))
      if candidate.segments == 1 { return candidate }
      if best.map({ candidate.segments < $0.segments }) ?? true { best = candidate }
    }
    return best ?? SMSText("")
  }

  private func texts(_ tail: MessageTail?) -> [TemplateText] { tail == nil ? plain : domainBound }
}
