-- The setting reinforcement = running_average (seed D): confidence after conversations, one after the other. Each observes p_sizes
-- times; the first observation of a new one (p_given not null) moves confidence to (c × n + given) / (n + 1), the others only raise n.
-- Before any observation (n = 0) confidence is the initial one, and the first leaves it. Pure. Called by observe_entities.
create or replace function loci.running_average(p_confidence double precision, p_n integer, p_sizes integer[], p_given double precision[])
returns double precision
language plpgsql immutable parallel safe
as $$
declare
    v_confidence double precision := p_confidence;
    v_n          integer := p_n;
begin
    for v_i in 1..cardinality(p_sizes) loop
        if v_n > 0 and p_given[v_i] is not null then
            v_confidence := (v_confidence * v_n + p_given[v_i]) / (v_n + 1);
        end if;
        v_n := v_n + p_sizes[v_i];
    end loop;
    return least(v_confidence, 1);
end $$;
comment on function loci.running_average(double precision, integer, integer[], double precision[]) is 'Confidence after conversations under reinforcement = running_average.';
