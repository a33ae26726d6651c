import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

struct SecondFactorFlow: Flow {
  private let parts: AccountParts

  init(_ parts: AccountParts) {
    self.parts = parts
  }

  var commands: [CommandKind] {
    [
      CommandKind(StartSecondFactor.self, users: .requesters, isRefusedLate: true) {
        command, envelope, now throws(APIError) in
        switch command.kind {
        case .phone: throw .methodOff(.phoneSecondFactor)
        case .totp: throw .methodOff(.totp)
        }
      },
      CommandKind(FinishSecondFactor.self, users: .requesters, isRefusedLate: true) {
        command, envelope, now throws(APIError) in
        switch command.kind {
        case .phone: throw .methodOff(.phoneSecondFactor)
        case .totp: throw .methodOff(.totp)
        }
      },
    ]
  }
}
