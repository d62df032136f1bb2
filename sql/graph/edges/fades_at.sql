-- When does an edge fall below the threshold? observed + ln(confidence / threshold) / rate days (forward decay: Cormode
-- et al., ICDE 2009). Stored in edges.fades_at, it makes "alive at T" an indexed comparison, the same at any T.
-- infinity: never, or beyond the range of timestamptz.
create or replace function loci.fades_at(p_confidence double precision, p_rate double precision,
                                         p_observed_at timestamptz, p_threshold double precision) returns timestamptz
language sql immutable parallel safe
return case
    when p_threshold <= 0 then 'infinity'
    when p_confidence < p_threshold then p_observed_at
    when p_rate < 1e-100 then 'infinity'
    when ln(p_confidence / p_threshold) / p_rate * 86400
         + date_part('epoch', p_observed_at - timestamptz '1970-01-01 00:00:00+00') > 9.2e12 then 'infinity'
    else to_timestamp(ln(p_confidence / p_threshold) / p_rate * 86400
                      + date_part('epoch', p_observed_at - timestamptz '1970-01-01 00:00:00+00'))
end;
comment on function loci.fades_at(double precision, double precision, timestamptz, double precision) is
    'When confidence decays below a threshold: confidence, rate per day, when last observed, threshold.';
