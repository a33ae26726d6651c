#if DEBUG
  import Glibc

  /// Ends the process at the message that a test names, as a trap does that nobody has foreseen. Release builds do not have it.
  enum PlantedCrash {
    private static let messageID = getenv("COUNTERSIGN_CRASH_AT_MESSAGE").map { String(cString: $0) }

    static func strike(_ message: String?) {
      if let messageID, messageID == message { abort() }
    }
  }
#endif
