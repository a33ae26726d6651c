import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Consent of an account, in force until it is revoked.
struct RecordedConsent: Sendable, Hashable {
  /// Purposes that an account may have consents of, revoked ones included.
  static let most = 16

  let consent: Consent
  let recordedAt: UnixTime
  /// `nil` while it is in force.
  var revokedAt: UnixTime?

  var isInForce: Bool { revokedAt == nil }

  var view: ConsentView {
    var view = ConsentView(consent, recordedAt: recordedAt)
    view.revokedAt = revokedAt
    return view
  }
}

extension RecordedConsent: FieldCoded {
  private struct Datum: FieldCoded {
    let name: String

    init(name: String) {
      self.name = name
    }

    init(_ fields: inout FieldCoder, _ datum: Self?) throws(UnreadableFields) {
      name = try fields.required(1, datum?.name)
    }
  }

  init(_ fields: inout FieldCoder, _ recorded: Self?) throws(UnreadableFields) {
    let purpose = try fields.required(1, recorded?.consent.purpose)
    let textVersion = try fields.required(2, recorded?.consent.textVersion)
    let data = try fields.list(3, recorded?.consent.data.map(Datum.init(name:)))
    let givenAt: UnixTime = try fields.required(4, recorded?.consent.givenAt)
    consent = Consent(purpose: purpose, textVersion: textVersion, data: data.map(\.name), givenAt: givenAt)
    recordedAt = try fields.required(5, recorded?.recordedAt)
    revokedAt = fields.optional(6, recorded?.revokedAt)
  }
}

extension AccountRecord {
  func consent(to purpose: String) -> RecordedConsent? { consents.first { $0.consent.purpose == purpose } }
}
