/// Has messages sent again to a prefix or a region that was blocked: `conversion.lift`. What was counted for it is forgotten.
///
/// A command of operators, see ``ListConversions``.
public struct LiftConversionBlock: Command, Hashable {
  public typealias Reply = ConversionLifted
  public static let type = MessageType("conversion.lift")

  /// The key of the block: a prefix (`+1415555`) or a region (`US`).
  public var key: String

  public init(key: String) {
    self.key = key
  }
}
