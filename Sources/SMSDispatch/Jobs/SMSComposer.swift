import JOSE
import Messages
import Telemetry
import WorkerRuntime

/// Makes the text of a job: opens the code, fills in the template, keeps the bounds.
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
    let context = SealContext(messageType: SMSDispatchJob.type, messageID: messageID, recipient: job.to)
    do throws(ContractProblem) {
      return .success(try code.open(with: keys, for: context, field: "variables.code"))
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
      return bounded(try templates.render(name, languageCode: languageCode, variables: values))
    } catch {
      return .refused(Reason(error.code.rawValue, error.detail))
    }
  }

  private func bounded(_ text: String) -> Outcome {
    guard !text.isEmpty else { return .refused(Reason("INVALID_TEXT", "The text is empty.")) }
    guard text.utf16.count <= limits.maxTextLength else {
      return .refused(Reason("TEXT_TOO_LONG", "The text is longer than \(limits.maxTextLength) characters."))
    }
    guard text.unicodeScalars.allSatisfy(Self.isText) else {
      return .refused(Reason("INVALID_TEXT", "The text has control characters other than line breaks and tabs."))
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

  private static func isText(_ scalar: Unicode.Scalar) -> Bool {
    // The controls of Unicode are those of ASCII and of Latin-1; what they are not, need not be looked up.
    switch scalar.value {
    case 0x20...0x7E, 0xA0...: true
    default: scalar == "\n" || scalar == "\r" || scalar == "\t"
    }
  }
}
