import CountersignMessages

extension Reason {
  static let deadlineExceeded = Reason("DEADLINE_EXCEEDED", "The deadline passed before the job could be carried out.")

  static let attemptLost = Reason(
    "ATTEMPT_LOST",
    "A worker began this job and crashed before it recorded the outcome; the job may have been carried out.")

  /// The provider call was ended by the engine, because the handler did not end it in time.
  static let callTimedOut = Reason("CALL_TIMED_OUT", "The provider did not answer in time.")

  static let laneBusy = Reason("LANE_BUSY", "All slots of the lane were busy for too long.")

  static let ledgerUnavailable = Reason("LEDGER_UNAVAILABLE", "The ledger could not be written; the job was not begun.")

  static let heldElsewhere = Reason("HELD", "Another worker is carrying out this job.")

  static let resultUndeliverable = Reason(
    "RESULT_UNDELIVERABLE", "The result is recorded in the ledger but could not be published yet.")

  static let workerStopped = Reason("WORKER_STOPPED", "The worker stopped before it could begin the job.")

  static func unknownLanes(_ names: [String]) -> Reason {
    names.isEmpty ? .noLane : Reason("UNKNOWN_LANE", "This worker has none of the lanes that may serve the job.")
  }

  static let noLane = Reason("NO_LANE", "No lane of this worker can serve the job.")

  static func invalidMessage(_ problem: ContractProblem) -> Reason {
    Reason("INVALID_MESSAGE", "\(problem.code): \(problem)")
  }

  static func crashed(_ problem: ContractProblem) -> Reason {
    Reason(problem.code.rawValue, problem.description)
  }

  /// The text is the description of a reason: `CODE (provider's): detail`.
  init?(lastError text: String) {
    let parts = text.split(separator: ":", maxSplits: 1)
    guard parts.count == 2 else { return nil }
    let head = parts[0].split(separator: "(", maxSplits: 1)
    guard let code = head.first?.split(separator: " ").first, code.utf8.allSatisfy(Self.isCodeByte) else { return nil }
    let provider = head.count == 2 && head[1].last == ")" ? String(head[1].dropLast()) : nil
    let detail = parts[1].first == " " ? parts[1].dropFirst() : parts[1]
    self.init(String(code), String(detail), providerCode: provider)
  }

  private static func isCodeByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
    default: false
    }
  }
}
