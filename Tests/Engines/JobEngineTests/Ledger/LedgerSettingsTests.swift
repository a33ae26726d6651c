import ServiceRuntime
import Testing

@testable import JobEngine

private struct Probe: Configuration {
  let ledger: LedgerSettings

  init(_ section: ConfigurationSection) {
    ledger = LedgerSettings(section.section("ledger"), path: "ledger.sqlite")
  }
}

@Suite("Settings of the ledger") struct LedgerSettingsTests {
  @Test("The path of the file can be set by the environment, as systemd's units do")
  func thePathCanBeSetByTheEnvironment() throws {
    let path = "/var/lib/countersign-sms-worker/ledger.sqlite"
    let moved = try Probe.load(file: nil, environment: ["COUNTERSIGN_LEDGER_PATH": path]).content.ledger
    #expect(moved.path == path)
    #expect(try Probe.load(file: nil, environment: [:]).content.ledger.path.hasSuffix("ledger.sqlite"))
  }
}
