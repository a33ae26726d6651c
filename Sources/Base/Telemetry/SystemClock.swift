import FoundationEssentials

/// The clock of the system.
public struct SystemClock: WallClock {
  public init() {}

  public func now() -> UnixTime {
    UnixTime(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
  }
}
