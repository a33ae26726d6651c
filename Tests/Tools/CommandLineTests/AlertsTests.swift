import FoundationEssentials
import TestSupport
import Testing

/// The alerts name metrics by their text. A renamed metric would silence them without anybody noticing.
@Suite struct AlertsTests {
  static let root = URL(filePath: Repository.root)

  @Test func `Every metric of an alert is one of the processes`() throws {
    let alerts = try String(contentsOf: Self.root.appending(path: "deploy/prometheus/alerts.yml"), encoding: .utf8)
    let metrics = try Self.names(in: Self.sources())
    let named = Self.names(in: alerts)
    #expect(!named.isEmpty)
    for name in named {
      let family = name.hasSuffix("_bucket") ? String(name.dropLast("_bucket".count)) : name
      #expect(metrics.contains(family), "\(family) is in no source file")
    }
  }

  static func names(in text: String) -> Set<String> {
    Set(text.matches(of: /\b(?:countersign|process)_[a-z_]+/).map { String($0.output) })
  }

  static func sources() throws -> String {
    let directory = root.appending(path: "Sources").path
    return try FileManager.default.subpathsOfDirectory(atPath: directory)
      .filter { $0.hasSuffix(".swift") }
      .map { try String(contentsOf: URL(filePath: "\(directory)/\($0)"), encoding: .utf8) }
      .joined(separator: "\n")
  }
}
