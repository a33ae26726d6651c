import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime
import Synchronization
import Testing

@testable import CommandLine

@Suite struct ConversionCommandTests {
  private static let time = UnixTime(rfc3339: "2026-07-01T12:00:00Z") ?? UnixTime(seconds: 0)

  private static func list(enabled: Bool = true, blockCount: Int) -> JSONValue {
    let blocks = (0..<min(blockCount, 1)).map { _ in
      ConversionList.Block(
        scope: .prefix, key: "+1415555", region: "US", blockedAt: time, until: time + .seconds(43_200), sent: 60,
        verified: 2)
    }
    return JSONValue(
      encoding: ConversionList(
        enabled: enabled, floorPercent: 10, windowSeconds: 3600, blockCount: blockCount, blocks: blocks,
        regions: blocks.map { .init(key: $0.region, region: $0.region, sent: 90, verified: 30) },
        prefixes: blocks.map { _ in .init(key: "+1415556", region: "US", sent: 30, verified: 28) }))
  }

  @Test func `The list is asked for as an operator`() async {
    let backend = FakeBackend(reply: .success(Self.list(blockCount: 3)))
    let run = await Run(backend, "conversion", "list", "--limit", "1")
    #expect(run.code == .success)
    #expect(
      run.output == """
        blocked when fewer than 10 of 100 codes come back within 3600 s

        BLOCKED   SCOPE   REGION  SINCE                 UNTIL                 SENT  VERIFIED  CONVERSION
        +1415555  prefix  US      2026-07-01T12:00:00Z  2026-07-02T00:00:00Z  60    2         3 %
        and 2 more; see --limit

        REGION  SENT  VERIFIED  CONVERSION
        US      90    30        33 %

        PREFIX    REGION  SENT  VERIFIED  CONVERSION
        +1415556  US      30    28        93 %

        """)
    #expect(
      backend.sent.withLock { $0 } == ["as operator", #"conversion.list.v1 {"limit":1} 10.0 seconds"#])
  }

  @Test func `An empty list says so`() async {
    let run = await Run(FakeBackend(reply: .success(Self.list(enabled: false, blockCount: 0))), "conversion", "list")
    #expect(
      run.output == "nothing is blocked: conversion.enabled of the coordinator is false\n\nno block is in force\n")
  }

  @Test func `The list is JSON for programs`() async {
    let reply = Self.list(blockCount: 1)
    let run = await Run(FakeBackend(reply: .success(reply)), "--json", "conversion", "list")
    #expect(run.output == reply.json() + "\n")
  }

  @Test(arguments: ["0", "101", "x"])
  func `A limit that cannot be is a mistake`(limit: String) async {
    let run = await Run(FakeBackend(), "conversion", "list", "--limit", limit)
    #expect(run.code == .usage)
  }

  @Test func `A lift says what it lifted`() async {
    let lifted = ConversionLifted(
      scope: .region, key: "US", region: "US", blockedAt: Self.time, until: Self.time, liftedAt: Self.time)
    let backend = FakeBackend(reply: .success(JSONValue(encoding: lifted)))
    let run = await Run(backend, "conversion", "lift", "US")
    #expect(run.code == .success)
    #expect(run.output == "lifted: messages are sent to region US again, and its conversion is counted anew\n")
    #expect(backend.sent.withLock { $0 } == ["as operator", #"conversion.lift.v1 {"key":"US"} 10.0 seconds"#])
  }

  @Test func `Erased rows are counted`() async {
    let forgotten = NumberForgotten(verifications: 2, canceled: 1, replies: 3, waiting: 0, counts: 4)
    let backend = FakeBackend(reply: .success(JSONValue(encoding: forgotten)))
    let run = await Run(backend, "forget", "+14155550123")
    #expect(run.code == .success)
    #expect(run.output.contains("verifications          2, of which 1 were in progress and are canceled"))
    #expect(
      backend.sent.withLock { $0 }
        == ["as operator", #"number.forget.v1 {"phoneNumber":"+14155550123"} 10.0 seconds"#])
    #expect(await Run(FakeBackend(), "forget").code == .usage)
  }

  @Test func `A lift of nothing is a no`() async {
    let refusal = CommandLineError(
      APIError(.invalidArgument, "nothing is blocked", field: "key", reason: "NOT_BLOCKED"))
    let run = await Run(FakeBackend(reply: .failure(refusal)), "conversion", "lift", "US", "--json")
    #expect(run.code == .failure)
    #expect(run.output.contains(#""reason":"NOT_BLOCKED""#))
  }

  @Test(
    arguments: [["conversion"], ["conversion", "lift"], ["conversion", "list", "US"]])
  func `Missing arguments are reported`(arguments: [String]) async {
    #expect(await Run(FakeBackend(), arguments: arguments).code == .usage)
  }

  @Test func `Help names both commands`() async {
    let run = await Run(FakeBackend(), "conversion", "--help")
    #expect(run.code == .success)
    #expect(run.output.contains("list") && run.output.contains("lift"))
  }
}
