import CountersignMessages

/// What a command is answered with.
struct CommandAnswer: Sendable, Hashable {
  var type: MessageType
  var body: [UInt8]
  /// The code of the error; absent when the command succeeded.
  var error: APIErrorCode?
  /// As what the metrics count it, where its code does not say enough.
  var label: String?
  /// Whether the same command may succeed later. It may have changed something all the same: what it counted, or ended, stays so when it is
  /// carried out again.
  var isTransient = false
}

extension CommandAnswer {
  /// The code that the metrics count it under.
  var metricCode: String { label ?? error?.rawValue ?? "OK" }
}

extension CommandAnswer {
  init(_ body: some MessageBody) throws(ContractProblem) {
    self.init(type: Swift.type(of: body).type, body: try body.json(), error: nil)
  }

  init(_ started: VerificationStarted) {
    self.init(type: VerificationStarted.type, body: started.fastJSON, error: nil)
  }

  init(_ approved: VerificationApproved) {
    self.init(type: VerificationApproved.type, body: approved.fastJSON, error: nil)
  }

  /// An answer that was recorded, counted as what it is.
  init(type: MessageType, again body: [UInt8]) {
    var code: APIErrorCode?
    if type == ErrorReply.type {
      do throws(ContractProblem) {
        code = try ErrorReply(json: body).error.code
      } catch {
        // Another version wrote it; the requester gets it as it is.
        code = .internalError
      }
    }
    self.init(type: type, body: body, error: code)
  }

  /// An error is answered in any case, so this cannot fail: its texts are ours and short.
  init(_ error: APIError) {
    let body: [UInt8]
    do throws(ContractProblem) {
      body = try ErrorReply(error).json()
    } catch {
      body = Array(#"{"error":{"code":"INTERNAL_ERROR","message":"the error could not be written"}}"#.utf8)
    }
    // Told apart from faults of the coordinator, of which somebody has to be woken.
    let label = error.reason == APIError.tooOld ? APIError.tooOld : nil
    self.init(type: ErrorReply.type, body: body, error: error.code, label: label, isTransient: error.retryAfter != nil)
  }
}
