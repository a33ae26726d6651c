import Messages

/// The users of the broker whose results are believed, by the jobs that their workers take.
public struct WorkerUsers: Sendable, Hashable {
  /// Those of sms-workers.
  public var sms: [String] = [Topology.Users.smsWorker]
  /// Those of push-workers.
  public var push: [String] = [Topology.Users.pushWorker]
  /// Those of mail-workers.
  public var mail: [String] = [Topology.Users.mailWorker]
  /// Those of revocation-workers.
  public var revocation: [String] = [Topology.Users.revocationWorker]

  public init() {}

  /// Everybody of them.
  var all: [String] { sms + push + mail + revocation }

  /// The users of the workers that take jobs of a type.
  func users(ofJobs type: String) -> [String] {
    switch Topology.Users.worker(ofJobs: type) {
    case Topology.Users.smsWorker: sms
    case Topology.Users.pushWorker: push
    case Topology.Users.mailWorker: mail
    case Topology.Users.revocationWorker: revocation
    default: []
    }
  }
}
