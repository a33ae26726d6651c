import CountersignEncoding
import CountersignTelemetry

// MARK: - Reading without the decoder

extension SMSDispatchJob {
  public init(json: [UInt8]) throws(ContractProblem) {
    self = try ContractJSON.decode(Self.self, from: json) { Self($0) }
  }

  /// `nil`: the decoder has to name the problem.
  init?(_ json: PlainJSON) {
    guard json.areTextsOrAbsent("text", "template", "languageCode", "app", "lane", "onUnknown"),
      let to = json.text("to"), let deadline = json.text("deadline").flatMap(UnixTime.init(rfc3339:)),
      let content = Content(json)
    else { return nil }
    let onUnknown = json.text("onUnknown").map(OnUnknown.init(rawValue:))
    if case .some(nil) = onUnknown { return nil }
    self.init(
      to: to, content: content, app: json.text("app"), lane: json.text("lane"), deadline: deadline,
      onUnknown: onUnknown ?? nil)
  }
}

extension SMSDispatchJob.Content {
  fileprivate init?(_ json: PlainJSON) {
    switch (json.text("text"), json.text("template")) {
    case (let text?, nil): self = .text(text)
    case (nil, let name?):
      guard let variables = SMSDispatchJob.Variables(json) else { return nil }
      self = .template(name: name, languageCode: json.text("languageCode"), variables: variables)
    case (nil, nil), (.some, .some): return nil
    }
  }
}

extension SMSDispatchJob.Variables {
  fileprivate init?(_ json: PlainJSON) {
    guard json.has("variables") else {
      self.init()
      return
    }
    guard let variables = json.object("variables"),
      variables.areTextsOrAbsent("code", "appName", "domain", "androidHash"),
      let custom = CustomVariables.read("custom", of: variables)
    else { return nil }
    self.init(
      code: variables.text("code").map(SecretField.init(text:)), appName: variables.text("appName"),
      domain: variables.text("domain"), androidHash: variables.text("androidHash"), custom: custom.value)
  }
}

// MARK: - Writing without the encoder

extension SMSDispatchJob {
  /// The body in JSON, written without the encoder. See ``JSONObjectWriter``.
  package var fastJSON: [UInt8] {
    var text = JSONObjectWriter(reserving: 1024)
    text.put("to", to)
    switch content {
    case .text(let content):
      text.put("text", content)
    case .template(let name, let languageCode, let variables):
      text.put("template", name)
      text.put("languageCode", languageCode)
      text.put("variables", object: variables.fastJSON)
    }
    text.put("app", app)
    text.put("lane", lane)
    text.put("deadline", deadline)
    text.put("onUnknown", onUnknown?.rawValue)
    return text.finished()
  }
}

extension SMSDispatchJob.Variables {
  fileprivate var fastJSON: [UInt8] {
    var text = JSONObjectWriter()
    text.put("code", code?.text)
    text.put("appName", appName)
    text.put("domain", domain)
    text.put("androidHash", androidHash)
    if let custom { text.put("custom", object: CustomVariables.fastJSON(custom)) }
    return text.finished()
  }
}
