/// Form of a message, and the checks that Vonage makes of it (https://developer.vonage.com/api/sms).
struct VonageForm: Sendable {
  /// Milliseconds (`ttl`).
  static let ttls = 20_000...604_800_000
  static let maxReferenceLength = 40
  /// Parameters of the description that Vonage publishes (github.com/Nexmo/api-specification, definitions/sms.yml
  /// 1.0.10), and of India's registration.
  static let parameters: Set<String> = [
    "api_key", "api_secret", "sig", "from", "to", "text", "ttl", "status-report-req", "callback", "message-class",
    "type", "vcard", "vcal", "body", "udh", "protocol-id", "title", "url", "validity", "client-ref", "account-ref",
    "entity-id", "content-id",
  ]

  private let form: Form

  init(_ body: [UInt8]) { form = Form(body) }

  /// Value of a field; an empty one counts as missing.
  subscript(_ name: String) -> String? { form[name] }

  /// Recipient in E.164.
  var recipient: String { "+" + (self["to"] ?? "") }

  /// The text as it arrives: without `type=unicode` it is converted to the GSM alphabet.
  var arrivingText: String {
    let text = self["text"] ?? ""
    return self["type"] == "unicode" ? text : GSMText.arriving(text)
  }

  /// Throws the first problem, in Vonage's words.
  func check(_ callbacks: CallbackURL) throws(VonageError) {
    if let name = form.stranger(to: Self.parameters) { throw VonageError("3", "Unknown param \(name)") }
    guard !form.hasRepeatedField else { throw VonageError("3", "A param is given twice") }
    guard let to = self["to"] else { throw VonageError("2", "Missing to param") }
    guard let from = self["from"] else { throw VonageError("2", "Missing from param") }
    guard self["text"] != nil else { throw VonageError("2", "Missing text param") }
    guard (7...15).contains(to.utf8.count), to.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw VonageError("3", "Invalid to param")
    }
    guard Self.isSender(from) else { throw VonageError("15", "Invalid sender address") }
    if let url = self["callback"], !callbacks.isTaken(url) { throw VonageError("23", "Invalid callback URL") }
    guard ["text", "unicode"].contains(self["type"] ?? "text") else { throw VonageError("3", "Invalid type param") }
    if let ttl = self["ttl"] {
      guard let milliseconds = Int(ttl), Self.ttls.contains(milliseconds) else {
        throw VonageError("3", "Invalid ttl param")
      }
    }
    guard (self["client-ref"] ?? "").count <= Self.maxReferenceLength else {
      throw VonageError("3", "Invalid client-ref param")
    }
    if let refusal = Recipients.refusal(recipient) { throw VonageError(refusal) }
  }

  /// Number in E.164 without the plus, or up to eleven letters, digits and spaces.
  private static func isSender(_ text: String) -> Bool {
    Recipients.isSender(text, maxDigits: 15)
  }
}

/// Status of a refused part.
struct VonageError: Error, Sendable {
  let status: String
  let text: String

  init(_ status: String, _ text: String) {
    self.status = status
    self.text = text
  }

  /// Recipients that Twilio's test credentials refuse, in Vonage's terms.
  init(_ refusal: Recipients.Refusal) {
    switch refusal.code {
    case 21612, 21408: self.init("6", "Unroutable message - rejected")
    case 21610: self.init("7", "Number barred")
    case 21614: self.init("22", "Invalid network code")
    default: self.init("3", "Invalid to param")
    }
  }

  static let credentials = VonageError("4", "Bad Credentials")

  /// Failure of the service: most have their own status in an answer with HTTP status 200.
  static func failure(_ status: Int) -> VonageError? {
    switch status {
    case 401: credentials
    case 429: VonageError("1", "Throughput Rate Exceeded - please wait [ 1 ] and retry")
    case 500: VonageError("5", "Internal Error")
    default: nil
    }
  }
}
