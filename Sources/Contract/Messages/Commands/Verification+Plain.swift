extension StartVerification {
  public init(json: [UInt8]) throws(ContractProblem) {
    if let plain = PlainJSON(json), let command = Self(plain) {
      self = command
    } else {
      self = try ContractJSON.decode(Self.self, from: json)
    }
  }

  /// Nil: anything is not as it should be, which the decoder will say, or is beyond what is read here: a proof.
  init?(_ json: PlainJSON) {
    guard json.areTextsOrAbsent("region", "languageCode", "subject", "requester"), !json.has("proof"),
      let number = json.text("phoneNumber"), let app = json.text("app"),
      let purpose = VerificationPurpose.read(json), let client = Client.read(json)
    else { return nil }
    self.init(
      phoneNumber: number, app: app, region: json.text("region"), languageCode: json.text("languageCode"),
      client: client.value, purpose: purpose.value, subject: json.text("subject"), requester: json.text("requester"))
  }
}

/// A field that is there, or not.
private struct Field<Value> {
  var value: Value?
}

extension VerificationPurpose {
  /// Nil: the decoder has to say what is wrong.
  fileprivate static func read(_ json: PlainJSON) -> Field<Self>? {
    guard json.has("purpose") else { return Field(value: nil) }
    return json.text("purpose").flatMap(Self.init(rawValue:)).map { Field(value: $0) }
  }
}

extension StartVerification.Client {
  /// Nil: the decoder has to say what is wrong.
  fileprivate static func read(_ json: PlainJSON) -> Field<Self>? {
    guard json.has("client") else { return Field(value: nil) }
    guard let client = json.object("client"), client.areTextsOrAbsent("ip", "userAgent", "instance") else { return nil }
    return Field(
      value: Self(ip: client.text("ip"), userAgent: client.text("userAgent"), instance: client.text("instance")))
  }
}

extension CheckVerification {
  public init(json: [UInt8]) throws(ContractProblem) {
    if let plain = PlainJSON(json), let command = Self(plain) {
      self = command
    } else {
      self = try ContractJSON.decode(Self.self, from: json)
    }
  }

  /// Nil: the decoder has to say what is wrong.
  init?(_ json: PlainJSON) {
    guard let id = json.text("verificationID"), let code = json.text("code"), json.areTextsOrAbsent("app", "subject"),
      let purpose = VerificationPurpose.read(json), let client = StartVerification.Client.read(json)
    else { return nil }
    self.init(
      verificationID: id, code: SecretField(text: code), app: json.text("app"), purpose: purpose.value,
      subject: json.text("subject"), client: client.value)
  }
}
