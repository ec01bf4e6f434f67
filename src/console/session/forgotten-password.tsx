import { useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Entry, Field, FormProblem, useSubmit } from './entry-form.tsx'
import { useSession } from './session.tsx'

export function ForgotPassword() {
  const { client } = useSession()
  const [sent, setSent] = useState('')
  const { submit, isBusy, problem } = useSubmit(async ({ email = '' }) => {
    const answer = await client.auth.forgetPassword.mutate({ email, redirectTo: '/console/reset-password' })
    setSent(answer.message)
  })
  return (
    <Entry title="Forgotten password">
      <form onSubmit={submit}>
        <Field label="Email" name="email" type="email" autoComplete="username" />
        <FormProblem problem={problem} />
        {sent && <p role="status">{sent}</p>}
        <Button type="submit" kind="primary" disabled={isBusy}>
          Email me a link
        </Button>
      </form>
      <p>
        <Link href="/playground">Back to sign-in</Link>
      </p>
    </Entry>
  )
}

/** The page that the email links to, with the token in its address. */
export function ResetPassword() {
  const { client } = useSession()
  const [isDone, setDone] = useState(false)
  const token = new URLSearchParams(location.search).get('token') ?? ''
  const { submit, isBusy, problem } = useSubmit(async ({ newPassword = '' }) => {
    await client.auth.resetPassword.mutate({ token, newPassword })
    setDone(true)
  })
  return (
    <Entry title="New password">
      {isDone ? (
        <p role="status">The password is changed.</p>
      ) : (
        <form onSubmit={submit}>
          <Field label="New password" name="newPassword" type="password" autoComplete="new-password" minLength={8} />
          <FormProblem problem={problem} />
          <Button type="submit" kind="primary" disabled={isBusy}>
            Change the password
          </Button>
        </form>
      )}
      <p>
        <Link href="/playground">Sign in</Link>
      </p>
    </Entry>
  )
}
