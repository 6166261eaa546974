/**
 * Formats a number as Go's `strconv.FormatFloat(value, 'g', -1, …)`, from its shortest digits in exponent form, as
 * `toExponential` gives them: `1.5e+07` from `1.5e+7`, `0.001` from `1e-3`. Not for NaN, infinities and -0.
 */
export function goFloat(exponential: string): string {
  const [digits = '', exponent = '0'] = exponential.split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return String(Number(exponential))
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}
