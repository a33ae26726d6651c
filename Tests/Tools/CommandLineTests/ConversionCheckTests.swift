import CountersignMessages
import CountersignTelemetry
import ServiceRuntime
import Testing

@testable import CommandLine

@Suite struct ConversionCheckTests {
  private static let time = UnixTime(rfc3339: "2026-07-01T12:00:00Z") ?? UnixTime(seconds: 0)

  private static func list(
    enabled: Bool = true, blockCount: Int, _ blocks: [(scope: ConversionScope, key: String, region: String)] = []
  ) -> ConversionList {
    ConversionList(
      enabled: enabled, floorPercent: 10, windowSeconds: 3600, blockCount: blockCount,
      blocks: blocks.map {
        .init(
          scope: $0.scope, key: $0.key, region: $0.region, blockedAt: time, until: time + .seconds(43_200), sent: 60,
          verified: 2)
      }, regions: [], prefixes: [])
  }

  @Test func `A block is a note that says how to lift it`() {
    let findings = ConversionCheck.findings(
      Self.list(blockCount: 2, [(.prefix, "+1415555", "US"), (.region, "ZZ", "ZZ")]))
    #expect(findings.map(\.status) == [.note, .note])
    #expect(
      findings.map(\.detail) == [
        "nothing is sent to prefix +1415555 (US) until 2026-07-02T00:00:00Z: 2 of 60 codes came back",
        "nothing is sent to region ZZ until 2026-07-02T00:00:00Z: 2 of 60 codes came back",
      ])
    #expect(findings.first?.hint == "if they are customers: countersign conversion lift +1415555")
  }

  @Test func `More than are shown are counted`() {
    let blocks = (0..<12).map { (scope: ConversionScope.prefix, key: "+14155\($0)", region: "US") }
    let findings = ConversionCheck.findings(Self.list(blockCount: 30, blocks))
    #expect(findings.count == ConversionCheck.shownBlocks + 1)
    #expect(findings.last?.detail == "nothing is sent to 20 more")
  }

  @Test(
    arguments: [
      (true, "nothing is blocked"), (false, "nothing is blocked: conversion.enabled of the coordinator is false"),
    ])
  func `No block is one line`(enabled: Bool, detail: String) {
    let findings = ConversionCheck.findings(Self.list(enabled: enabled, blockCount: 0))
    #expect(findings.map(\.status) == [.ok])
    #expect(findings.map(\.detail) == [detail])
  }

  @Test func `Note and skipped are no failure`() {
    let blocked = ConversionCheck.findings(Self.list(blockCount: 1, [(.prefix, "+1415555", "US")]))
    let output = DoctorCommand.output(blocked + [ConversionCheck.skipped("no answer")])
    #expect(output.exitCode == .success)
    #expect(output.text.hasPrefix("note    conversion: nothing is sent to prefix +1415555 (US)"))
    #expect(output.text.hasSuffix("\nall is well"))
  }
}
