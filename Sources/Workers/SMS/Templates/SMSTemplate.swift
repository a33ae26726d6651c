struct SMSTemplate: Sendable {
  private let plain: [SMSTemplateText]
  private let domainBound: [SMSTemplateText]
  private let requiredPlain: [TemplateVariable]
  private let requiredDomainBound: [TemplateVariable]

  init(_ forms: TemplateFile.Forms) throws(SMSTemplateText.Problem) {
    plain = try Self.parse(forms.plain, "plain")
    domainBound = try Self.parse(forms.domainBound, "domainBound")
    requiredPlain = Self.variables(plain)
    requiredDomainBound = Self.variables(domainBound)
  }

  private static func parse(_ sources: [String], _ form: String) throws(SMSTemplateText.Problem) -> [SMSTemplateText] {
    guard !sources.isEmpty else { throw SMSTemplateText.Problem("\(form): has no text") }
    var texts: [SMSTemplateText] = []
    for (index, source) in sources.enumerated() {
      do {
        texts.append(try SMSTemplateText(source))
      } catch {
        throw SMSTemplateText.Problem("\(form)[\(index)]: \(error.message)")
      }
    }
    return texts
  }

  private static func variables(_ texts: [SMSTemplateText]) -> [TemplateVariable] {
    var variables: [TemplateVariable] = []
    for variable in texts.flatMap(\.variables) where !variables.contains(variable) { variables.append(variable) }
    return variables
  }

  func required(_ tail: MessageTail?) -> [TemplateVariable] { tail == nil ? requiredPlain : requiredDomainBound }

  /// Renders the first wording that fits in one segment, else the one with the fewest segments.
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

  private func texts(_ tail: MessageTail?) -> [SMSTemplateText] { tail == nil ? plain : domainBound }
}

/// Last line of a message, by which a phone finds the code and its app or domain. There is only one; the job chooses
/// it.
enum MessageTail: Sendable, Hashable {
  /// `@example.com #482913`, exactly, for iPhones and for browsers (draft-wells-origin-bound-one-time-codes, section
  /// 3).
  case domain(String, code: String)
  /// Hash of an Android app, for the SMS Retriever. Older Play services also look for `<#>` at the beginning.
  case androidHash(String)

  init?(_ values: [TemplateVariable: String]) {
    if let hash = values[.androidHash] {
      self = .androidHash(hash)
    } else if let domain = values[.domain] {
      self = .domain(domain, code: values[.code] ?? "")
    } else {
      return nil
    }
  }

  func around(_ text: String) -> String {
    switch self {
    case .domain(let domain, let code): "\(text)\n@\(domain) #\(code)"
    case .androidHash(let hash): "<#> \(text)\n\(hash)"
    }
  }
}
