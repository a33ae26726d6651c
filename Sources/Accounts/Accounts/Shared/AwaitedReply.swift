import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Correlation IDs of the commands that accounts sends: the kind of the record that waits for the reply, and its place.
///
/// The kind comes first, so that several flows can wait for replies of one type.
enum AwaitedReply {
  private static let separator: Character = "/"

  static func correlationID(_ kind: RecordKind, _ place: String) -> String { "\(kind.name)\(separator)\(place)" }

  /// Place of the record that waits for a reply. `nil` when it is of another kind.
  static func place(in envelope: Envelope, _ kind: RecordKind) -> String? {
    let parts = envelope.correlationID?.split(separator: separator, maxSplits: 1) ?? []
    return parts.count == 2 && parts[0] == kind.name ? String(parts[1]) : nil
  }
}
