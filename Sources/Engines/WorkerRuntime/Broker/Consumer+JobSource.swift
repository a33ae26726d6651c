public import AMQP

extension Consumer: JobSource {}
