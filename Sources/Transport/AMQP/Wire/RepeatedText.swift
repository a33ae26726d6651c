import CountersignCRabbitMQ

/// A text that is the same in nearly every message of a channel, such as its type. Kept from one message to the next to
/// save copies.
struct RepeatedText {
  private var last = ""

  mutating func read(_ bytes: amqp_bytes_t) -> String {
    known(bytes) ?? keep(String(bytes))
  }

  func known(_ bytes: amqp_bytes_t) -> String? {
    let isSame = last.utf8.withContiguousStorageIfAvailable { $0.elementsEqual(UnsafeRawBufferPointer(bytes)) }
    return isSame == true ? last : nil
  }

  mutating func keep(_ text: String) -> String {
    last = text
    return text
  }
}

struct RepeatedTexts {
  var consumer = RepeatedText()
  var exchange = RepeatedText()
  var routingKey = RepeatedText()
  var contentType = RepeatedText()
  var type = RepeatedText()
  var replyTo = RepeatedText()
  var appID = RepeatedText()
}
