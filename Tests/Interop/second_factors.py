"""The calls of second factors."""

from authenticator import Authenticator
from gateway_client import received_code


class Factors:
    """The calls of second factors, as both SDKs make them."""

    def __init__(self, client):
        self.client = client

    def call(self, name, **body):
        return self.client.call(f"accounts/mfa{name}", {field: value for field, value in body.items() if value is not None}, version="v2")

    def start_phone(self, id_token, number, **proof):
        answer = self.call("Enrollment:start", idToken=id_token, phoneEnrollmentInfo={"phoneNumber": number, **proof})
        return answer["phoneSessionInfo"]["sessionInfo"]

    def finish_phone(self, id_token, session, code, name=None):
        return self.call(
            "Enrollment:finalize", idToken=id_token, displayName=name, phoneVerificationInfo={"sessionInfo": session, "code": code})

    def start_totp(self, id_token):
        return self.call("Enrollment:start", idToken=id_token, totpEnrollmentInfo={})["totpSessionInfo"]

    def finish_totp(self, id_token, session, code, name=None):
        return self.call(
            "Enrollment:finalize", idToken=id_token, displayName=name,
            totpVerificationInfo={"sessionInfo": session, "verificationCode": code})

    def withdraw(self, id_token, enrollment):
        return self.call("Enrollment:withdraw", idToken=id_token, mfaEnrollmentId=enrollment)

    def start_sign_in(self, pending, enrollment, **proof):
        answer = self.call("SignIn:start", mfaPendingCredential=pending, mfaEnrollmentId=enrollment, phoneSignInInfo=proof)
        return answer["phoneResponseInfo"]["sessionInfo"]

    def finish_sign_in(self, pending, session, code):
        return self.call("SignIn:finalize", mfaPendingCredential=pending, phoneVerificationInfo={"sessionInfo": session, "code": code})

    def sign_in_with_totp(self, pending, enrollment, code):
        return self.call(
            "SignIn:finalize", mfaPendingCredential=pending, mfaEnrollmentId=enrollment, totpVerificationInfo={"verificationCode": code})

    def enroll_phone(self, id_token, number, count=1, name=None):
        session = self.start_phone(id_token, number)
        return self.finish_phone(id_token, session, received_code(number, count=count), name)

    def enroll_totp(self, id_token, name=None):
        """The tokens, and the user's authenticator."""
        secret = self.start_totp(id_token)
        authenticator = Authenticator(secret["sharedSecretKey"])
        return self.finish_totp(id_token, secret["sessionInfo"], authenticator.code(), name), authenticator
