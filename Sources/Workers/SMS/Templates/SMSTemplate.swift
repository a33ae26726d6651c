import JobEngine

struct SMSTemplate: Sendable {
  private let plain: [TemplateText]
  private let domainBound: [TemplateText]
  private let requiredPlain: [TemplateVariable]
  private let requiredDomainBound: [TemplateVariable]
  let variables: Set<TemplateVariable>

  init(_ forms: SMSTemplateFile.Forms, _ known: TemplateVariables) throws(TemplateFault) {
    plain = try Self.parse(forms.plain, "plain", known)
    domainBound = try Self.parse(forms.domainBound, "domainBound", known)
    requiredPlain = Self.variables(plain)
    requiredDomainBound = Self.variables(domainBound)
    variables = Set(requiredPlain + requiredDomainBound)
  }

  private static func parse(
    _ sources: [String], _ form: String, _ known: TemplateVariables
  ) throws(TemplateFault) -> [TemplateText] {
    guard !sources.isEmpty else { throw TemplateFault("\(form): has no text") }
    var texts: [TemplateText] = []
    for (index, source) in sources.enumerated() {
      do {
        texts.append(try text(source, known))
      } catch {
        throw TemplateFault("\(form)[\(index)]: \(error.message)")
      }
    }
    return texts
  }

  /// In Unicode scalars.
  static let maxLength = 300

  static func text(_ source: String, _ known: TemplateVariables) throws(TemplateFault) -> TemplateText {
    let text = try TemplateText(source, known, lengths: 0...maxLength, allowsLineFeeds: true)
    guard text.variables.contains(.code) else { throw TemplateFault("does not contain {code}") }
    return text
  }

  private static func variables(_ texts: [TemplateText]) -> [TemplateVariable] {
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

  func texts(_ tail: MessageTail?) -> [TemplateText] { tail == nil ? plain : domainBound }
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
