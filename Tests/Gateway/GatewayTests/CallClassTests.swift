import CountersignConcurrency
import CountersignTelemetry
import HTTPClient
import Testing

@testable import Gateway

@Suite("Classes of calls", .serialized)
struct CallClassTests {
  private static let places = 3
  private static let slow = "/identitytoolkit.googleapis.com/v1/accounts:sendVerificationCode"

  /// A gateway whose calls to the coordinator wait until a latch opens.
  private func gateway(_ latch: Latch) throws -> GatewayBench {
    let slow: Route.Implementation = { (_: Call) async throws(ProtocolError) -> CallAnswer in
      await latch.wait()
      return CallAnswer()
    }
    let echo: Route.Implementation = { (call: Call) async throws(ProtocolError) -> CallAnswer in
      try EchoRoutes.echo(call)
    }
    let routes: [Route] = [
      .v1(
        "send", .post, "accounts:sendVerificationCode", old: "sendVerificationCode", waitsFor: .coordinator, slow),
      .v1("signUp", .post, "accounts:signUp", old: "signupNewUser", waitsFor: .accounts, echo),
      .v1("projects", .get, "projects", old: "getProjectConfig", waitsFor: .gateway, echo),
    ]
    return try GatewayBench(maxInFlight: Self.places, answerTime: .seconds(3600), routes: { _, _ in routes })
  }

  private func waiting(_ gateway: GatewayBench) -> Bool {
    gateway.metrics.render().contains(#"requests_in_flight{class="coordinator"} \#(Self.places)"#)
  }

  @Test func `A full class refuses at once, takes no place of another, and goes on when it has places`() async throws {
    let latch = Latch()
    let gateway = try gateway(latch)
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<Self.places { group.addTask { try await gateway.post(Self.slow, "{}").status } }
      while !waiting(gateway) { await Task.yield() }
      for _ in 0..<2 {
        let refused = try await gateway.post(Self.slow, "{}", headers: [("Origin", GatewayBench.origin)])
        #expect(refused.isError(503) && refused.word == "UNAVAILABLE" && refused.headers["Retry-After"] == "1")
        #expect(refused.headers["Access-Control-Allow-Origin"] == GatewayBench.origin)
      }
      for _ in 0..<(2 * Self.places) {
        #expect(try await gateway.post(GatewayBench.signUp, "{}").status == 200)
        #expect(try await gateway.send("GET", CallFixture.v1 + "projects?key=fake-api-key").status == 200)
        #expect(try await gateway.post("/nowhere", "{}").status == 404)
      }
      latch.open()
      return try await group.reduce(into: [Int]()) { $0.append($1) }
    }
    #expect(statuses == [200, 200, 200])
    #expect(try await gateway.post(Self.slow, "{}").status == 200)
    let metrics = gateway.metrics.render()
    for (callClass, refused) in [("coordinator", 2), ("providers", 0), ("hashing", 0), ("accounts", 0), ("gateway", 0)]
    {
      #expect(metrics.contains(#"countersign_gateway_requests_refused_total{class="\#(callClass)"} \#(refused)"#))
      #expect(metrics.contains(#"countersign_gateway_requests_in_flight{class="\#(callClass)"} 0"#))
    }
  }

  @Test func `Each call has the class of what it waits for`() throws {
    let routes = try CallFixture(isDevelopment: true).calls.routes
    func names(_ callClass: CallClass) -> Set<String> {
      Set(routes.filter { $0.waitsFor == callClass }.map(\.name))
    }
    #expect(
      names(.coordinator).isSuperset(of: [
        "verifyIosClient", "sendVerificationCode", "signInWithPhoneNumber", "resetAccounts", "verificationCodes",
        "mfaEnrollmentStart", "mfaEnrollmentFinalize", "mfaSignInStart", "mfaSignInFinalize",
      ]))
    #expect(names(.hashing).isSuperset(of: ["signUp", "signInWithPassword", "update", "createUser", "updateUser"]))
    #expect(names(.administrators).isSuperset(of: ["grantAccess", "importUsers", "listUsers", "projectConfig"]))
    #expect(
      names(.verifications) == [
        "startVerification", "checkVerification", "getVerification", "cancelVerification",
      ])
    #expect(names(.providers) == ["signInWithIdp", "revokeToken", "createAuthUri", "showSignIn", "appleNotification"])
    #expect(
      names(.accounts).isSuperset(of: ["lookup", "delete", "token", "signInWithCustomToken", "mfaEnrollmentWithdraw"]))
    // Without a key of session cookies they ask accounts first.
    #expect(names(.accounts).isSuperset(of: ["publicKeys", "sessionCookiePublicKeys"]))
    // Keys are those that were fetched last: verifiers get them while all else hangs.
    #expect(names(.gateway).isSuperset(of: ["jwkSet", "certificates", "projects", "signInWithGameCenter"]))
  }
}
