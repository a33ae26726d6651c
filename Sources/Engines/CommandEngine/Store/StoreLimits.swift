import CountersignTelemetry

/// Bounds of what a store takes, the same in every implementation: a value that one store takes fits into all.
public enum StoreLimits {
  /// Bytes of an inbox key: sender and ID of a message have up to 255 each.
  public static let maxInboxKeyBytes = 1_024
  /// Bytes of a record's ID.
  public static let maxIDBytes = 128
  /// Bytes of the name of a record kind, or of one of its keys.
  public static let maxNameBytes = 40
  /// Bytes of the hash in a unique key, a group key or a counter key.
  public static let maxHashBytes = 64
  /// Bytes of a fingerprint in the inbox.
  public static let maxFingerprintBytes = 256
  /// Keys of one record, unique keys and group keys each.
  public static let maxKeysPerRecord = 64
  /// Bytes of a record's body.
  public static let maxBodyBytes = 1 << 20
  /// Bytes of a recorded reply, or of the note in its place.
  public static let maxReplyBytes = 1 << 18
  /// Bytes of an outgoing message: a body of 64 KiB, sealed, with its properties.
  public static let maxMessageBytes = 1 << 20
  /// Keys of one load, both rounds together.
  public static let maxKeysPerLoad = 65_536
  /// Records of one page of a group.
  public static let maxGroupPage = 256
  /// Newest cells that are loaded of one counter. A limit of up to 64 counts by the millisecond, and a larger one by
  /// 64ths of its window, so older cells change no decision.
  public static let maxCellsPerCounter = 128
  /// Counters of one list.
  public static let maxListedCounters = 131_072
  /// Due records of one sweep.
  public static let maxDueRecords = 1_024
  /// Messages of one claim.
  public static let maxClaimedMessages = 1_024
  /// Rows of one purge.
  public static let maxPurgedRows = 4_096
  /// Longest time for which a message is postponed or held. One that is due later was put off before the clock was set
  /// back, and is due at once.
  public static let longestDelay = Duration.seconds(30)
  /// Attempts of one transaction whose keys another writer changes meanwhile.
  public static let maxAttempts = 5

  /// Time after which no message is due that was put off by now. The slack is for a transaction that began a little
  /// later than the look, and for small steps of the clock.
  static func horizon(_ now: UnixTime) -> UnixTime { now + longestDelay + .seconds(5) }
}
