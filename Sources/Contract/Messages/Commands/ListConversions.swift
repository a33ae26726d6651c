/// Asks how many of the codes that were sent came back, and where nothing is sent for that reason: `conversion.list`.
///
/// A command of operators: the coordinator answers it to the users of the broker that its configuration names. The message carries
/// its user in `user_id`, which the broker checks.
public struct ListConversions: Command, Hashable {
  public typealias Reply = ConversionList
  public static let type = MessageType("conversion.list")

  /// The most entries of each list; ``defaultLimit`` if absent.
  public var limit: Int?

  public static let defaultLimit = 20
  /// More would not fit into one message.
  public static let maxLimit = 100

  public init(limit: Int? = nil) {
    self.limit = limit
  }
}
