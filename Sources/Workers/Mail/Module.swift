/// The mail worker: its messages, its senders, the submission by SMTP and what replies mean.
