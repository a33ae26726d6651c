import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite("The keys of shared secrets", .timeLimit(.minutes(10))) struct SharedSecretKeyTests {
  private func factor(_ answer: AccountsBench.Answer, _ bench: AccountsBench) async throws -> SecondFactor {
    try #require(try await bench.account(of: answer)?.secondFactors.first)
  }

  @Test func `A secret opens for its account and enrollment alone`() throws {
    let sealer = SharedSecretSealer(try KeyRing(sealing: BenchSecrets.key("k")))
    let ids = try ["a", "b"].map { try #require(RecordID(AccountRecord.kind, $0)) }
    var factor = SecondFactor(.totp, enrollmentID: "one", enrolledAt: UnixTime(seconds: 0))
    factor.secret = sealer.seal([1, 2, 3], of: ids[0], "one")
    #expect(sealer.open(factor, of: ids[0])?.secret == [1, 2, 3])
    #expect(sealer.open(factor, of: ids[1]) == nil)
    var copied = SecondFactor(.totp, enrollmentID: "two", enrolledAt: UnixTime(seconds: 0))
    copied.secret = factor.secret
    #expect(sealer.open(copied, of: ids[0]) == nil)
    #expect(SharedSecretSealer(try KeyRing(sealing: nil)).seal([1], of: ids[0], "one") == nil)
  }

  @Test func `After a change of the token keys secrets are sealed anew, and the former key may go`() async throws {
    try await AccountsBench.several { setting, start in
      let first = try await start(setting)
      first.useTOTP()
      let enrolled = try await first.enrolledUser()
      #expect(try await factor(enrolled.user, first).secret?.sealedUnder == "tokens.1")
      await first.die()
      let (former, next) = (try #require(setting.secrets.tokenKeys.sealing), try BenchSecrets.key("tokens.2"))
      setting.secrets.use(try KeyRing(sealing: next, others: [former]))
      let second = try await start(setting)
      second.useTOTP()
      await second.maintenance.tidy()
      #expect(try await factor(enrolled.user, second).secret?.sealedUnder == "tokens.2")
      let left = try await second.look { set throws(StoreError) in
        try set.group(AccountRecord.group(ofSecretsUnder: "tokens.1")).records.count
      }
      #expect(left == 0)
      await second.die()
      setting.secrets.use(try KeyRing(sealing: next))
      let third = try await start(setting)
      third.useTOTP()
      // The first bench's IDs are odd, and the inbox knows them.
      _ = third.nextID()
      #expect(try await third.signIn(enrolled).error == nil)
    }
  }

  @Test func `A factor whose key is gone signs nobody in, and the log says so once`() async throws {
    try await AccountsBench.several { setting, start in
      let first = try await start(setting)
      first.useTOTP()
      let enrolled = try await first.enrolledUser()
      await first.die()
      let former = try #require(setting.secrets.tokenKeys.sealing)
      setting.secrets.use(try KeyRing(sealing: BenchSecrets.key("tokens.2")))
      // The signing keys are gone with it: an operator makes new ones.
      let second = try await start(setting)
      second.useTOTP()
      // It takes the first ID, so that those below are even: the inbox knows the odd ones.
      _ = try await second.ask(RotateKeys(withdraw: true), user: "operator")
      for _ in 0..<2 {
        let error = try await second.signIn(enrolled).error
        #expect(error?.code == .internalError && error?.reason == "UNKNOWN_TOKEN_KEY")
      }
      let lines = second.logs.events.filter { $0.message.description.contains("second factor cannot be opened") }
      #expect(lines.count == 1)
      #expect(try await factor(enrolled.user, second).secret?.sealedUnder == former.id)
      await second.maintenance.tidy()
      #expect(try await factor(enrolled.user, second).secret?.sealedUnder == former.id)
    }
  }
}
