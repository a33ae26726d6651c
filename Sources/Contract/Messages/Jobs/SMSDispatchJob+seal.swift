extension SMSDispatchJob {
  /// Context that the code of this job belongs to: the number, and what the text says of whom the code is for. Who can write a queue could
  /// otherwise keep a sealed code and have it shown for a domain, a name or an Android app of his own.
  public func sealContext(messageID: String) -> SealContext {
    SealContext(messageType: Self.type, messageID: messageID, recipient: to, fields: Self.boundFields(of: content))
  }

  private static func boundFields(of content: Content) -> [SealContext.Field] {
    guard case .template(let name, _, let variables) = content else { return [] }
    return [
      SealContext.Field("template", name), SealContext.Field("appName", variables.appName),
      SealContext.Field("domain", variables.domain), SealContext.Field("androidHash", variables.androidHash),
    ]
  }
}
