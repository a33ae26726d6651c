import FoundationEssentials
import Testing

@testable import CommandLine

@Suite struct ConsumerHostsTests {
  private func files(_ text: String, of worker: String = "sms-worker") throws -> ConfigurationFiles {
    let directory = FileManager.default.temporaryDirectory.path + "/hosts-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try Data(text.utf8).write(to: URL(filePath: "\(directory)/\(worker)-1.json5"))
    return try ConfigurationFiles(directory: directory)
  }

  private let two = [
    ConsumerState(queue: "sms.dispatch", host: "10.0.0.1"), ConsumerState(queue: "sms.dispatch", host: "10.0.0.2"),
    ConsumerState(queue: "mail.relay", host: "10.0.0.1"), ConsumerState(queue: "sms.dispatch", host: nil),
  ]

  @Test func `Several hosts that think they are one are a finding`() throws {
    let found = ConsumerHostsCheck.findings(two, try files("{ queue: { consumers: 'oneHost' } }"))
    #expect(found.map(\.check) == ["hosts of sms.dispatch"])
    #expect(found.first?.status == .failed)
    #expect(ConsumerHostsCheck.findings(two, try files("{}")).first?.status == .failed)
    #expect(ConsumerHostsCheck.findings(two, nil).first?.status == .warning)
  }

  @Test func `Several hosts that know of each other are told`() throws {
    let found = ConsumerHostsCheck.findings(two, try files("{ queue: { consumers: 'severalHosts' } }"))
    #expect(found.first { $0.check == "hosts of sms.dispatch" }?.status == .note)
    #expect(found.first?.detail.contains("2 now") == true)
  }

  @Test func `Several hosts that share a ledger are told, and are no fault`() throws {
    let shared = try files("{ ledger: { type: 'postgresql' }, queue: { consumers: 'severalHosts' } }")
    #expect(ConsumerHostsCheck.findings(two, shared).map(\.status) == [.ok])
    #expect(ConsumerHostsCheck.findings(two, try files("{ ledger: { type: 'sqlite' } }")).first?.status == .failed)
  }

  @Test(
    arguments: [
      ("{ ledger: { type: 'postgresql' } }", .ok),
      ("{ ledger: { type: 'postgresql' }, suppressions: { type: 'postgresql' } }", .ok),
      ("{ ledger: { type: 'postgresql' }, suppressions: { type: 'sqlite' } }", .failed),
      ("{ queue: { consumers: 'severalHosts' } }", .failed), ("{}", .failed), (nil, .warning),
    ] as [(String?, Finding.Status)])
  func `Several hosts with mail-workers share ledger and suppression list`(
    text: String?, status: Finding.Status
  ) throws {
    let hosts = [
      ConsumerState(queue: "mail.forget", host: "10.0.0.1"), ConsumerState(queue: "mail.forget", host: "10.0.0.2"),
    ]
    let found = ConsumerHostsCheck.findings(hosts, try text.map { try files($0, of: "mail-worker") })
    #expect(found.map(\.check) == ["hosts of mail.forget"] && found.map(\.status) == [status])
    #expect(found.first?.hint?.contains("suppressions.type") == (status == .ok ? nil : true))
    #expect(found.first?.hint?.contains("severalHosts") != true)
  }

  @Test func `One host is no finding, under whichever of its names`() throws {
    let one = [
      ConsumerState(queue: "sms.dispatch", host: "127.0.0.1"), ConsumerState(queue: "sms.dispatch", host: "::1"),
    ]
    #expect(ConsumerHostsCheck.findings(one, try files("{}")).isEmpty)
  }

  @Test func `The management API's answers are read before its statistics are complete`() throws {
    let json = #"""
      [{"queue": {"name": "a"}, "channel_details": {"peer_host": "10.0.0.1"}}, {"queue": {"name": "b"}, "channel_details": []}]
      """#
    let states = try JSONDecoder().decode([ConsumerState].self, from: Data(json.utf8))
    #expect(states.map(\.queue) == ["a", "b"] && states.map(\.host) == ["10.0.0.1", nil])
  }
}
