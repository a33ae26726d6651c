public import CountersignTelemetry

/// Job `mail.relay`: sends a mail.
public struct MailRelayJob: Job, Hashable {
  public static let type = MessageType("mail.relay")

  /// Address, `name@example.com`, without a display name.
  public var to: String
  /// Address of one of the worker's senders. The first one if absent.
  public var from: String?
  /// Content of the mail.
  public var content: Content
  /// HTTPS address that ends the reader's subscription with one POST (RFC 8058). Mail that an account needs has none.
  public var unsubscribeURL: String?
  /// Latest time to send it.
  public var deadline: UnixTime
  /// `report` if absent.
  public var onUnknown: OnUnknown?

  public init(
    to: String, from: String? = nil, content: Content, unsubscribeURL: String? = nil, deadline: UnixTime,
    onUnknown: OnUnknown? = nil
  ) {
    self.to = to
    self.from = from
    self.content = content
    self.unsubscribeURL = unsubscribeURL
    self.deadline = deadline
    self.onUnknown = onUnknown
  }

  /// Content of a mail: in the JSON the fields `subject`, `text` and `html`, or `template`, `languageCode` and
  /// `variables`.
  public enum Content: Sendable, Hashable {
    /// A finished mail.
    /// - Parameters:
    ///   - subject: one line.
    ///   - text: the text, for every reader.
    ///   - html: the same text as an HTML document, for readers that show it.
    case message(subject: String, text: String, html: String?)
    /// A template of the worker.
    /// - Parameters:
    ///   - name: name of the template, for example `address-verification`.
    ///   - languageCode: BCP 47; the worker falls back to what it has.
    ///   - variables: values of its placeholders.
    case template(name: String, languageCode: String?, variables: Variables)
  }

  /// Values of the placeholders of a template.
  public struct Variables: Codable, Sendable, Hashable {
    /// One-time code. Sealed, its recipient is the address.
    public var code: SecretField?
    /// HTTPS address, or one of HTTP on the reader's own machine, that proves receipt of the mail when it is opened.
    /// Sealed, its recipient is the address.
    public var link: SecretField?
    public var appName: String?
    /// Change of the account, a sentence in the reader's language.
    public var change: String?
    /// Name or masked number of a second factor.
    public var secondFactor: String?
    /// Values of variables that the worker's templates declare, by their names. See ``CustomVariables``.
    public var custom: [String: String]?

    public init(
      code: SecretField? = nil, link: SecretField? = nil, appName: String? = nil, change: String? = nil,
      secondFactor: String? = nil, custom: [String: String]? = nil
    ) {
      self.code = code
      self.link = link
      self.appName = appName
      self.change = change
      self.secondFactor = secondFactor
      self.custom = custom
    }
  }
}

extension MailRelayJob: Codable {
  private enum CodingKeys: String, CodingKey {
    case to, from, subject, text, html, template, languageCode, variables, unsubscribeURL, deadline, onUnknown
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    to = try fields.decode(String.self, forKey: .to)
    from = try fields.decodeIfPresent(String.self, forKey: .from)
    content = try Self.content(fields)
    unsubscribeURL = try fields.decodeIfPresent(String.self, forKey: .unsubscribeURL)
    deadline = try fields.decode(UnixTime.self, forKey: .deadline)
    onUnknown = try fields.decodeIfPresent(OnUnknown.self, forKey: .onUnknown)
  }

  private static func content(_ fields: KeyedDecodingContainer<CodingKeys>) throws -> Content {
    let subject = try fields.decodeIfPresent(String.self, forKey: .subject)
    let template = try fields.decodeIfPresent(String.self, forKey: .template)
    switch (subject, template) {
    case (let subject?, nil):
      return .message(
        subject: subject, text: try fields.decode(String.self, forKey: .text),
        html: try fields.decodeIfPresent(String.self, forKey: .html))
    case (nil, let template?):
      return .template(
        name: template,
        languageCode: try fields.decodeIfPresent(String.self, forKey: .languageCode),
        variables: try fields.decodeIfPresent(Variables.self, forKey: .variables) ?? Variables())
    case (nil, nil):
      throw ValueProblem("is missing, and so is template: give one of them")
        .decodingError(at: fields.codingPath + [CodingKeys.subject])
    case (.some, .some):
      throw ValueProblem("is given together with template: give one of them")
        .decodingError(at: fields.codingPath + [CodingKeys.subject])
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(to, forKey: .to)
    try fields.encodeIfPresent(from, forKey: .from)
    switch content {
    case .message(let subject, let text, let html):
      try fields.encode(subject, forKey: .subject)
      try fields.encode(text, forKey: .text)
      try fields.encodeIfPresent(html, forKey: .html)
    case .template(let name, let languageCode, let variables):
      try fields.encode(name, forKey: .template)
      try fields.encodeIfPresent(languageCode, forKey: .languageCode)
      try fields.encode(variables, forKey: .variables)
    }
    try fields.encodeIfPresent(unsubscribeURL, forKey: .unsubscribeURL)
    try fields.encode(deadline, forKey: .deadline)
    try fields.encodeIfPresent(onUnknown, forKey: .onUnknown)
  }
}
