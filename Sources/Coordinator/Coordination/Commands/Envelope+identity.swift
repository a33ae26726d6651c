import CountersignMessages

extension Envelope {
  /// The envelope of a command with its original sender in `userID`, whoever republished it: rights and identity go by
  /// the sender.
  func resolved(sender: String) -> Envelope {
    var copy = self
    copy.userID = sender == SenderRule.unnamed ? nil : sender
    copy.statedSender = nil
    return copy
  }

  /// Identity of a command whose sender is resolved.
  var identity: MessageIdentity {
    MessageIdentity(sender: userID ?? SenderRule.unnamed, messageID: messageID)
  }
}
