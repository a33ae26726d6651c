import CountersignMessages

extension APIError {
  static let unknownWebhook = APIError(
    .invalidArgument, "there is no such webhook: 'countersign webhook list' shows all", field: "id")
  static let tooManyWebhooks = APIError(
    .quotaExceeded,
    "there are \(Webhook.maxCount) webhooks: remove one first, and wait until its events are gone")
  static let invalidWebhookURL = APIError(
    .invalidArgument,
    "url must be https:// to an address on the internet or in webhooks.allowedNetworks, without a user and a fragment, at most 2,048 characters; http:// only on this machine, where webhooks.allowedNetworks has 127.0.0.0/8",
    field: "url")
  static let invalidEvents = APIError(
    .invalidArgument,
    "events must be 1 to \(AddWebhookOrder.maxPatterns) known types: verification.approved, account.*, or *",
    field: "events")
  static let invalidReplyKey = APIError(
    .invalidArgument, "replyKey must be a public JSON Web Key of type EC, curve P-256", field: "replyKey")
  static let invalidSince = APIError(
    .invalidArgument, "since must be within the last three days, for which deliveries are kept", field: "since")
}
