package jdk.incubator.vector;

/** A processor without vector instructions: Trino then uses its scalar code. */
public enum VectorShape
{
    S_64_BIT;

    public static VectorShape preferredShape()
    {
        return S_64_BIT;
    }

    public int vectorBitSize()
    {
        return 64;
    }
}
