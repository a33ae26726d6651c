import CommandEngine
import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

@Suite("The keys and clients of Apple's refresh tokens") struct GrantKeyTests {
  private func round(_ bench: AccountsBench) async {
    _ = bench.sink.takePublished()
    await bench.maintenance.tidy()
    await bench.maintenance.publishLeftovers()
  }

  private func grant(of account: AccountRecord, _ bench: AccountsBench) async throws -> ProviderGrant? {
    try await bench.find(account)?.identities.first?.grant
  }

  @Test func `After a change of the token keys they are sealed anew, and the former key may go`() async throws {
    try await AccountsBench.several { setting, start in
      let first = try await start(setting)
      let (holder, _) = try await first.signInWithApple(ago: .zero)
      let grant = try #require(first.parts.grants.seal(Secret("refresh-1"), of: "com.example.web", app: "web"))
      try await first.change(holder.account) { account, _ in account.identities[0].grant = grant }
      await round(first)
      #expect(try await self.grant(of: holder.account, first)?.sealedUnder == "tokens.1")
      await first.die()
      let (former, next) = (try #require(setting.secrets.tokenKeys.sealing), try BenchSecrets.key("tokens.2"))
      setting.secrets.use(try KeyRing(sealing: next, others: [former]))
      let second = try await start(setting)
      await round(second)
      let again = try #require(try await self.grant(of: holder.account, second))
      #expect(again.sealedUnder == "tokens.2" && again.clientID == "com.example.web" && again.app == "web")
      #expect(GrantSealer(try KeyRing(sealing: next)).open(again)?.reveal() == "refresh-1")
      // Nothing is left under the former one.
      let left = try await second.look { set throws(StoreError) in
        try set.group(AccountRecord.group(ofSecretsUnder: "tokens.1")).records.count
      }
      #expect(left == 0)
    }
  }

  @Test func `A revocation whose key is missing waits for it, for a week`() async throws {
    let bench = try await AccountsBench()
    let gone = GrantSealer(try KeyRing(sealing: BenchSecrets.key("gone")))
    let grant = try #require(gone.seal(Secret("refresh-1"), of: "com.example.web", app: nil))
    let (holder, idToken) = try await bench.signInWithApple(ago: .zero)
    try await bench.change(holder.account) { account, _ in account.identities[0].grant = grant }
    _ = try await bench.delete(idToken)
    await round(bench)
    #expect(bench.checks.isEmpty && bench.events("account.erased").isEmpty)
    bench.clock.advance(by: GrantRevocation.patience)
    await round(bench)
    let event = try #require(bench.events("account.erased").first)
    #expect(try AccountErased(json: event.message.body).apple == .failed)
  }

  @Test func `The token of a former client is revoked when another one's comes`() async throws {
    let bench = try await AccountsBench()
    let (holder, _) = try await bench.signInWithApple(ago: .zero)
    var proven = ProvenIdentity(
      provider: "apple.com", subject: AccountsBench.subject, authenticatedAt: bench.clock.now())
    for (index, client) in ["com.example.old", "com.example.old", "com.example.new"].enumerated() {
      proven.grant = bench.parts.grants.seal(Secret("refresh-\(index)"), of: client, app: nil)
      let factor = PresentedIdentity(proven: proven, source: .credential, app: nil, returnsCredential: false)
      try await bench.change(holder.account) { account, _ in factor.renew(&account, ownsAddress: false) }
      await round(bench)
      #expect(bench.checks.isEmpty == (index < 2))
    }
    #expect(try bench.request(StartRevocation.self).body.clientID == "com.example.old")
    #expect(try await grant(of: holder.account, bench)?.clientID == "com.example.new")
  }
}
