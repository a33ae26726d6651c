public import CountersignTelemetry

/// Job `sms.dispatch`: sends an SMS.
public struct SMSDispatchJob: Job, Hashable {
  public static let type = MessageType("sms.dispatch")

  /// E.164.
  public var to: String
  /// Content of the SMS.
  public var content: Content
  /// Sending app, for workers whose lanes serve some apps only.
  public var app: String?
  /// The only lane that may send it. Any lane if absent.
  public var lane: String?
  /// Latest time to send it.
  public var deadline: UnixTime
  /// `report` if absent.
  public var onUnknown: OnUnknown?

  public init(
    to: String, content: Content, app: String? = nil, lane: String? = nil, deadline: UnixTime,
    onUnknown: OnUnknown? = nil
  ) {
    self.to = to
    self.content = content
    self.app = app
    self.lane = lane
    self.deadline = deadline
    self.onUnknown = onUnknown
  }

  /// Content of an SMS: in the JSON the field `text`, or the fields `template`, `languageCode` and `variables`.
  public enum Content: Sendable, Hashable {
    /// A finished text.
    case text(String)
    /// A template of the worker.
    /// - Parameters:
    ///   - name: name of the template, for example `verification`.
    ///   - languageCode: BCP 47; the worker falls back to what it has.
    ///   - variables: values of its placeholders.
    case template(name: String, languageCode: String?, variables: Variables)
  }

  /// Values of the placeholders of a template.
  public struct Variables: Codable, Sendable, Hashable {
    /// Sealed, its recipient is the phone number.
    public var code: SecretField?
    public var appName: String?
    /// Domain that the code is bound to, for phones that fill in codes.
    public var domain: String?
    /// Hash of an Android app, which then receives the code itself (SMS Retriever). It takes the last line, so
    /// ``domain`` has no effect with it.
    public var androidHash: String?
    /// Values of variables that the worker's templates declare, by their names. See ``CustomVariables``.
    public var custom: [String: String]?

    public init(
      code: SecretField? = nil, appName: String? = nil, domain: String? = nil, androidHash: String? = nil,
      custom: [String: String]? = nil
    ) {
      self.code = code
      self.appName = appName
      self.domain = domain
      self.androidHash = androidHash
      self.custom = custom
    }
  }
}

extension SMSDispatchJob: Codable {
  private enum CodingKeys: String, CodingKey {
    case to, text, template, languageCode, variables, app, lane, deadline, onUnknown
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    to = try fields.decode(String.self, forKey: .to)
    content = try Self.content(fields)
    app = try fields.decodeIfPresent(String.self, forKey: .app)
    lane = try fields.decodeIfPresent(String.self, forKey: .lane)
    deadline = try fields.decode(UnixTime.self, forKey: .deadline)
    onUnknown = try fields.decodeIfPresent(OnUnknown.self, forKey: .onUnknown)
  }

  private static func content(_ fields: KeyedDecodingContainer<CodingKeys>) throws -> Content {
    let text = try fields.decodeIfPresent(String.self, forKey: .text)
    let template = try fields.decodeIfPresent(String.self, forKey: .template)
    switch (text, template) {
    case (let text?, nil):
      return .text(text)
    case (nil, let template?):
      return .template(
        name: template,
        languageCode: try fields.decodeIfPresent(String.self, forKey: .languageCode),
        variables: try fields.decodeIfPresent(Variables.self, forKey: .variables) ?? Variables())
    case (nil, nil):
      throw ValueProblem("is missing, and so is template: give one of them")
        .decodingError(at: fields.codingPath + [CodingKeys.text])
    case (.some, .some):
      throw ValueProblem("is given together with template: give one of them")
        .decodingError(at: fields.codingPath + [CodingKeys.text])
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(to, forKey: .to)
    switch content {
    case .text(let text):
      try fields.encode(text, forKey: .text)
    case .template(let name, let languageCode, let variables):
      try fields.encode(name, forKey: .template)
      try fields.encodeIfPresent(languageCode, forKey: .languageCode)
      try fields.encode(variables, forKey: .variables)
    }
    try fields.encodeIfPresent(app, forKey: .app)
    try fields.encodeIfPresent(lane, forKey: .lane)
    try fields.encode(deadline, forKey: .deadline)
    try fields.encodeIfPresent(onUnknown, forKey: .onUnknown)
  }
}

extension SMSDispatchJob {
  /// Context of the code of this job: the number, and the parts of the text that name the code's addressee. A user with
  /// access to the queue could otherwise show a sealed code for a domain, a name or an Android app of their own. A seal
  /// has to bind each custom variable of its job, so none can be added.
  public func sealContext(messageID: String) -> SealContext {
    SealContext(messageType: Self.type, messageID: messageID, recipient: to, fields: Self.boundFields(of: content))
  }

  private static func boundFields(of content: Content) -> [SealContext.Field] {
    guard case .template(let name, _, let variables) = content else { return [] }
    return [
      SealContext.Field("template", name), SealContext.Field("appName", variables.appName),
      SealContext.Field("domain", variables.domain), SealContext.Field("androidHash", variables.androidHash),
    ]
      + (variables.custom ?? [:]).sorted { $0.key < $1.key }.map { name, value in
        SealContext.Field("custom.\(name)", value, isRequired: true)
      }
  }
}
