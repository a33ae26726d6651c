import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import JobEngine

struct SMSComposer: Sendable {
  enum Outcome {
    case text(SMSText)
    case refused(Reason)
    case invalid(ContractProblem)
  }

  let templates: SMSTemplates
  let keys: KeyRing
  let limits: SMSLimits
  let appName: String?

  func compose(_ job: SMSDispatchJob, messageID: String) -> Outcome {
    switch job.content {
    case .text(let text):
      guard limits.allowsDomainBoundCodes || DomainBoundCode.line(of: text) == nil else {
        return .refused(Self.foreignDomain)
      }
      return bounded(text)
    case .template(let name, let languageCode, let variables):
      switch open(variables.code, of: job, messageID: messageID) {
      case .success(let code): return fill(name, languageCode, variables, code)
      case .failure(let problem): return .invalid(problem)
      }
    }
  }

  private func open(
    _ code: SecretField?, of job: SMSDispatchJob, messageID: String
  ) -> Result<Secret?, ContractProblem> {
    guard let code else { return .success(nil) }
    do throws(ContractProblem) {
      return .success(
        try code.open(with: keys, for: job.sealContext(messageID: messageID), field: "variables.code"))
    } catch {
      return .failure(error)
    }
  }

  private func fill(
    _ name: String, _ languageCode: String?, _ variables: SMSDispatchJob.Variables, _ code: Secret?
  ) -> Outcome {
    var values: [String: String] = [:]
    values["code"] = code?.reveal()
    values["appName"] = variables.appName ?? appName
    values["domain"] = variables.domain
    values["androidHash"] = variables.androidHash
    do {
      let text = try templates.render(
        name, languageCode: languageCode, variables: values, custom: variables.custom ?? [:])
      // An app name may look like such a line too, if it stands alone on the last line.
      let line = DomainBoundCode.line(of: text.text)
      guard line == nil || line.map(String.init) == Self.domainLine(values) else {
        return .refused(Self.foreignDomain)
      }
      return bounded(text)
    } catch {
      return .refused(error.reason)
    }
  }

  private static func domainLine(_ values: [String: String]) -> String? {
    guard let domain = values["domain"], let code = values["code"], values["androidHash"] == nil else { return nil }
    return "@\(domain) #\(code)"
  }

  private static let foreignDomain = Reason(
    "INVALID_TEXT",
    "The last line has the form @domain #code, by which phones fill in a code at that domain: name the domain in variables.domain of a template."
  )

  private func bounded(_ text: String) -> Outcome {
    guard !text.isEmpty else { return .refused(Reason("INVALID_TEXT", "The text is empty.")) }
    guard text.utf16.count <= limits.maxTextLength else {
      return .refused(Reason("TEXT_TOO_LONG", "The text is longer than \(limits.maxTextLength) characters."))
    }
    guard PrintedText.isClean(text) else {
      return .refused(
        Reason(
          "INVALID_TEXT",
          "The text has characters that are invisible or change the order of others: \(PrintedText.refused)."
        ))
    }
    return bounded(SMSText(text))
  }

  private func bounded(_ text: SMSText) -> Outcome {
    guard text.segments <= limits.maxSegments else {
      return .refused(
        Reason("TEXT_TOO_LONG", "The text is \(text.segments) segments long, \(limits.maxSegments) are allowed."))
    }
    return .text(text)
  }
}

/// Limits of one message.
struct SMSLimits: Sendable, Hashable {
  /// Maximum length of a text, in characters as providers count them (UTF-16 code units).
  var maxTextLength = maxTextLengthOfProviders
  /// Maximum number of segments, each of which is billed.
  var maxSegments = 10
  /// Whether a job's own text may end with a line that binds a code to a domain (`@example.com #482913`).
  var allowsDomainBoundCodes = false

  /// Twilio's limit of `Body`. Other providers do not take longer texts either.
  static let maxTextLengthOfProviders = 1600
}
