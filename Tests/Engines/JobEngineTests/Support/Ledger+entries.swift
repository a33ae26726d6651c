import CountersignTelemetry

@testable import JobEngine

extension Ledger {
  func claim(_ claim: LedgerClaim) async throws -> ClaimAnswer {
    guard case .claim(let answer) = try await only(.claim(claim)) else { throw WrongAnswer() }
    return answer
  }

  func release(_ claim: LedgerClaim) async throws {
    guard case .done = try await only(.release(claim)) else { throw WrongAnswer() }
  }

  func postpone(_ claim: LedgerClaim) async throws {
    guard case .done = try await only(.postpone(claim)) else { throw WrongAnswer() }
  }

  func settle(_ claim: LedgerClaim, result: [UInt8], at time: UnixTime) async throws -> [UInt8]? {
    guard case .settled(let standing) = try await only(.settle(claim, result: result, at: time)) else {
      throw WrongAnswer()
    }
    return standing
  }

  private func only(_ entry: LedgerEntry) async throws -> LedgerAnswer {
    let answers = await write([entry])
    guard answers.count == 1 else { throw WrongAnswer() }
    return try answers[0].get()
  }
}

private struct WrongAnswer: Error {}

/// A claim whose lease is 20 s.
func claim(
  _ id: String = "job-1", token: Int64 = 1, at now: UnixTime = start, redeliveries: Int = 0, lane: String = "a"
) -> LedgerClaim {
  LedgerClaim(
    messageID: id, token: token, lane: lane, times: .init(now: now, leaseUntil: now + .seconds(20)),
    redeliveries: redeliveries)
}
