import CountersignMessages

// The bodies that every verification has, written by hand; see JSONText. Fields are those of the contract, in its order.

extension VerificationStarted {
  var hotJSON: [UInt8] {
    var text = JSONText()
    text.put("verificationID", verificationID)
    text.put("app", app)
    text.put("phoneNumber", phoneNumber)
    text.put("codeLength", codeLength)
    text.put("expiresAt", expiresAt)
    text.put("resendAfter", resendAfter)
    text.put("resent", resent)
    text.put("testNumber", testNumber)
    text.put("purpose", purpose?.rawValue)
    return text.finished()
  }
}

extension VerificationApproved {
  var hotJSON: [UInt8] {
    var text = JSONText()
    text.put("verificationID", verificationID)
    text.put("app", app)
    text.put("phoneNumber", phoneNumber)
    text.put("approvedAt", approvedAt)
    text.put("purpose", purpose.rawValue)
    text.put("subject", subject)
    text.put("testNumber", testNumber)
    return text.finished()
  }
}

extension VerificationSent {
  var hotJSON: [UInt8] {
    var text = JSONText()
    text.put("verificationID", verificationID)
    text.put("app", app)
    text.put("phoneNumber", phoneNumber)
    text.put("sentAt", sentAt)
    text.put("job", job)
    text.put("lane", lane)
    text.put("reference", reference)
    text.put("purpose", purpose?.rawValue)
    return text.finished()
  }
}

extension SMSDispatchJob {
  var hotJSON: [UInt8] {
    var text = JSONText(reserving: 1024)
    text.put("to", to)
    switch content {
    case .text(let content):
      text.put("text", content)
    case .template(let name, let languageCode, let variables):
      text.put("template", name)
      text.put("languageCode", languageCode)
      text.put("variables", object: variables.hotJSON)
    }
    text.put("app", app)
    text.put("lane", lane)
    text.put("deadline", deadline)
    text.put("onUnknown", onUnknown?.rawValue)
    return text.finished()
  }
}

extension SMSDispatchJob.Variables {
  fileprivate var hotJSON: [UInt8] {
    var text = JSONText()
    text.put("code", code?.text)
    text.put("appName", appName)
    text.put("domain", domain)
    text.put("androidHash", androidHash)
    return text.finished()
  }
}
