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
    guard json.areTextsOrAbsent("region", "languageCode"), !json.has("proof"), let number = json.text("phoneNumber"),
      let app = json.text("app")
    else { return nil }
    self.init(
      phoneNumber: number, app: app, region: json.text("region"), languageCode: json.text("languageCode"))
    guard json.has("client") else { return }
    guard let client = json.object("client"), client.areTextsOrAbsent("ip", "userAgent") else { return nil }
    self.client = Client(ip: client.text("ip"), userAgent: client.text("userAgent"))
  }
}

extension CheckVerification {
  public init(json: [UInt8]) throws(ContractProblem) {
    if let plain = PlainJSON(json), let id = plain.text("verificationID"), let code = plain.text("code") {
      self.init(verificationID: id, code: SecretField(text: code))
    } else {
      self = try ContractJSON.decode(Self.self, from: json)
    }
  }
}
