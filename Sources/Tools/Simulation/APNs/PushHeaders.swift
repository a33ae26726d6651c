import HTTPServer

/// Header fields of a push
/// (https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns).
struct PushHeaders: Sendable {
  private static let names: Set<String> = [
    "apns-id", "apns-push-type", "apns-expiration", "apns-priority", "apns-topic", "apns-collapse-id",
  ]
  private static let pushTypes: Set<String> = [
    "alert", "background", "complication", "controls", "fileprovider", "liveactivity", "location", "mdm",
    "pushtotalk", "voip", "widgets",
  ]
  private static let maxCollapseIDBytes = 64

  let topic: String

  /// Throws the first problem.
  init(_ headers: HTTPServerHeaders) throws(APNsReason) {
    let given = headers.fields.map { $0.name.lowercased() }.filter(Self.names.contains)
    guard Set(given).count == given.count else { throw .duplicateHeaders }
    if let id = headers["apns-id"], !Self.isUUID(id) { throw .badMessageID }
    guard let type = headers["apns-push-type"], Self.pushTypes.contains(type) else { throw .invalidPushType }
    try Self.checkPriority(headers["apns-priority"], type)
    if let text = headers["apns-expiration"] {
      guard let seconds = Int64(text), seconds >= 0 else { throw .badExpirationDate }
    }
    if let collapseID = headers["apns-collapse-id"], collapseID.utf8.count > Self.maxCollapseIDBytes {
      throw .badCollapseID
    }
    guard let topic = headers["apns-topic"], !topic.isEmpty else { throw .missingTopic }
    self.topic = topic
  }

  /// Priority 10 is the default, and an error for a background push.
  private static func checkPriority(_ priority: String?, _ type: String) throws(APNsReason) {
    switch priority ?? "10" {
    case "1", "5": return
    case "10" where type != "background": return
    default: throw .badPriority
    }
  }

  private static func isUUID(_ text: String) -> Bool {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    return groups.map(\.utf8.count) == [8, 4, 4, 4, 12] && groups.allSatisfy { $0.allSatisfy(\.isHexDigit) }
  }
}
