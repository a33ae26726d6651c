/// `countersign version`.
enum VersionCommand {
  static let version = "0.1.0"
  static let output = CommandOutput(text: "countersign \(version)", json: .object(["version": .text(version)]))
}
