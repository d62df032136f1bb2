-- What is an edge's confidence worth at a moment? confidence × e^(−rate × days since it was last observed). Before the
-- observation it is the confidence itself. Inlines. The exponent stops at −500, and what is next to nothing is nothing:
-- short of underflow, which would be an error.
create or replace function loci.effective_confidence(p_confidence double precision, p_rate double precision,
                                                     p_observed_at timestamptz, p_at timestamptz)
                                                         returns double precision
language sql immutable parallel safe
return case when p_confidence < 1e-80 then 0
    else p_confidence * exp(-least(p_rate * greatest(date_part('epoch', p_at - p_observed_at) / 86400, 0), 500)) end;
comment on function loci.effective_confidence(double precision, double precision, timestamptz, timestamptz) is
    'Confidence after decay: confidence, rate per day, when last observed, at which moment.';
