import CountersignTelemetry

/// A verification as the holder of one handle sees it: its own part and the state of the code, nothing of other
/// requesters.
struct HandleView: Sendable, Hashable {
  var state: VerificationState
  var failure: VerificationFailure?
  var expiresAt: UnixTime
  var timeline: [TimelineEntry]
}

extension PhoneVerification {
  /// The view through a handle.
  ///
  /// While the code can come back, each holder sees whether an SMS with it is known to be accepted. A code that came
  /// back through another handle has expired for this one.
  func view(through number: Int) -> HandleView {
    var view = HandleView(state: state, failure: failure, expiresAt: expiresAt, timeline: entries(of: number))
    switch ending(of: number) {
    case .canceled?: (view.state, view.failure) = (.canceled, nil)
    case .exhausted?: (view.state, view.failure) = (.failed, failure(of: number))
    case nil where state == .approved && number != approver:
      view.state = .expired
      if let endedAt {
        view.expiresAt = min(expiresAt, endedAt)
        view.timeline.append(TimelineEntry(at: endedAt, kind: .expired))
      }
    case nil: break
    }
    return view
  }

  /// Reason that it failed for the holder of a handle, if it did.
  func failure(of number: Int) -> VerificationFailure? {
    switch ending(of: number) {
    case .exhausted?: .tooManyAttempts
    case .canceled?: nil
    case nil: failure
    }
  }

  /// The handle through which the code came back, if it did.
  var approver: Int? { state == .approved ? handles.approver ?? Self.firstHandle : nil }

  private func entries(of number: Int) -> [TimelineEntry] {
    guard !handles.isEmpty else { return timeline.entries }
    let hasOwnEnding = ending(of: number) != nil
    return timeline.entries.filter { entry in
      if let handle = entry.handle { return handle == number }
      return entry.kind.endsAll ? !hasOwnEnding : number == Self.firstHandle
    }
  }
}

extension TimelineEntry.Kind {
  /// Whether the entry ends the code for all handles, unless it names one.
  fileprivate var endsAll: Bool { self == .expired || self == .failed }
}

extension TimelineEntry {
  /// The entry, attributed to a handle.
  func of(_ handle: Int) -> TimelineEntry {
    var entry = self
    entry.handle = handle == PhoneVerification.firstHandle ? nil : handle
    return entry
  }
}
